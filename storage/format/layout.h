// Where things are in a dataset directory. The prose is in FORMAT.md beside this file; names are
// shared with it.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <sluice/dtype.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <string>

namespace sluice {

/// The newest version that this build reads and writes. A dataset is written as the oldest version
/// that has what it holds (`Manifest::version_of`).
inline constexpr int kFormatVersion = 7;
inline constexpr const char* kManifestName = "manifest.json";
inline constexpr std::uint64_t kSumBlockBytes = 1024 * 1024;  ///< bytes under one 64-bit checksum

/// Elements a feature row may have: its bytes fit 32 bits with room to spare.
inline constexpr std::uint32_t kMaxFeatureDim = 1u << 24;

/// How rows of a fixed width lie in a file of 4 KiB pages.
struct FeatureLayout {
  DType dtype = DType::kF32;
  std::uint32_t dim = 0;
  std::uint32_t entries = 0;  ///< that are not 0 in a sparse row, at most; 0: rows are dense
  std::uint64_t rows = 0;
  std::uint32_t row_bytes = 0;
  /// Whole rows a page, none crossing a page boundary; 0: packed, rows follow each other without a
  /// gap.
  std::uint32_t rows_per_page = 0;

  /// Pages when that wastes at most an eighth of each page, else packed.
  static FeatureLayout make(DType dtype, std::uint32_t dim, std::uint64_t rows);
  static FeatureLayout make(const FeatureSchema& table);

  /// Byte at which `row` begins.
  std::uint64_t offset_of(std::uint64_t row) const {
    if (rows_per_page == 0) return row * row_bytes;
    return row / rows_per_page * kPageBytes + row % rows_per_page * row_bytes;
  }
  std::uint64_t first_page_of(std::uint64_t row) const { return offset_of(row) / kPageBytes; }
  std::uint64_t last_page_of(std::uint64_t row) const {
    return (offset_of(row) + row_bytes - 1) / kPageBytes;
  }
  /// Size of the file, a whole number of pages.
  std::uint64_t file_bytes() const;
};

// Paths below the dataset directory.
std::string node_path(const std::string& type, const std::string& file);
std::string relation_path(const RelationSchema& relation, const std::string& file);
std::string split_path(const std::string& split, const std::string& part);
std::string sum_path(const std::string& file);

/// A name that is safe as a folder and unambiguous in a relation's key: letters, digits, '_', '-',
/// '.', but neither
/// "__" nor "..", no '_' at either end and no leading '.'. Returns what is wrong, or an empty text.
std::string name_problem(const std::string& name);

}  // namespace sluice
