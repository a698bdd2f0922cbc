// InitialVectors: what learned rows begin as, where a file says it: vectors of nodes by the user's
// ids, as `sluice-train embed` or another program wrote them.
//
// A .safetensors file with `rows`, f32 [n, dim], and `ids`: i64 [n], or of ids that are text all
// their bytes, u8, with `ids.offsets`, i64 [n + 1]. Without ids `rows` go by the nodes' numbers.
// Rows are read when they are asked for, so the file may be larger than memory; 8 bytes a node are
// charged as "initial vectors", and while it is opened as much an id and the ids. Immutable.
#pragma once

#include "storage/io/file.h"
#include "train/options.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/embedding_table.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class InitialVectors {
 public:
  /// Reads all rows once, for the hash. Throws Error: kIo and kData for a file that is not
  /// there or of another form, also where an id stands there twice, a value is no number, or no id
  /// is a node's; kUsage for vectors of another width; kResource.
  InitialVectors(const std::filesystem::path& path,
                 const Dataset& dataset,
                 std::string_view node_type,
                 std::uint32_t dim);

  /// Whether there is a vector of a node.
  bool has(std::uint64_t node) const { return row_of(node) != kNoRow; }
  /// Reads the vectors of nodes that ascend, one after the other; of those that have none nothing
  /// is written. Throws kIo.
  void read(std::span<const std::uint64_t> nodes, std::span<float> out) const;
  /// XXH3-64 of rows and ids.
  std::uint64_t hash() const { return hash_; }

 private:
  class FileIds;
  static constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

  std::uint64_t row_of(std::uint64_t node) const {
    const auto rows = rows_.as<std::uint64_t>();
    return node < rows.size() ? rows[node] : kNoRow;
  }
  [[noreturn]] void refuse(ErrorCode code, const std::string& what, const std::string& hint) const;
  void place_rows(const Dataset& dataset,
                  std::string_view node_type,
                  const FileIds& ids,
                  std::uint64_t count);
  void hash_rows(std::uint64_t count, const FileIds& ids);

  File file_;
  std::uint32_t dim_;
  std::uint64_t begin_ = 0;  // of the rows, in bytes of the file
  std::uint64_t hash_ = 0;
  Array rows_;  // u64, by node
};

/// By node type; types without are not there.
using VectorsByType = std::map<std::string, std::shared_ptr<const InitialVectors>>;

/// Those that [embedding] vectors names. Throws kUsage where they cannot go with the rest, and what
/// InitialVectors throws. @param follow whether the run takes in what is appended
VectorsByType open_initial_vectors(const EmbeddingSection& wanted,
                                   bool follow,
                                   const Dataset& dataset);

/// Rows that begin as vectors, those without one as `else_as` says.
InitialRows begin_as_vectors(std::shared_ptr<const InitialVectors> vectors,
                             const InitialRows& else_as);

}  // namespace sluice
