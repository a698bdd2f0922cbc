// A matrix of N x N numbers as text, with names in its first row and column or bare: what users
// have as an adjacency matrix. Read as rows of edges it would be another graph without a word.
#pragma once

#include <sluice/error.h>
#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice {

struct MatrixText {
  std::uint64_t size = 0;  ///< rows, and columns
  bool names = false;      ///< in the first row or column
  bool certain = true;     ///< false: it may as well be as many edges of as many columns
  char delimiter = ',';    ///< '\0': white space
  bool commas = false;     ///< before fractions
};

/// Whether the file holds a matrix, or may hold one, and no rows of edges; reads no more of it than
/// it takes to tell, which for edges is a few lines. @param comment lines that begin with one of
/// these characters do not count
std::optional<MatrixText> find_matrix(const std::filesystem::path& path,
                                      const std::string& comment,
                                      MemoryLedger& ledger);

/// What to say of one where edges are asked.
Error matrix_error(const MatrixText& matrix, const std::filesystem::path& path);

/// What to say of one that is not certain, and is read as edges.
std::string matrix_doubt(const MatrixText& matrix, const std::filesystem::path& path);

}  // namespace sluice
