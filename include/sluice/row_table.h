// RowTable: rows of numbers that are learned themselves, one a node, with what their optimiser
// keeps beside each. The seam between those who train rows and where rows are kept. Torch-free.
//
// A row's first value is a function of a key and its number alone. Bodies: rows in memory
// (nn/memory_rows.h). Used by one thread at a time.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class RowTable {
 public:
  virtual ~RowTable() = default;

  virtual std::uint64_t rows() const = 0;
  virtual std::int64_t dim() const = 0;

  /// Rows in the order asked, repeats allowed: f32 [ids.size(), dim()].
  virtual Result<void> gather(std::span<const std::uint64_t> ids, std::span<float> out) = 0;
  /// The rows from `first` on, as many as `out` holds.
  virtual Result<void> gather_range(std::uint64_t first, std::span<float> out) = 0;

  /// A step of the optimiser with these gradients, f32 [ids.size(), dim()]; other rows stay as they
  /// are. @pre ids are distinct
  virtual Result<void> update(std::span<const std::uint64_t> ids,
                              std::span<const float> gradients) = 0;
  /// The same of the rows from `first` on.
  virtual Result<void> update_range(std::uint64_t first, std::span<const float> gradients) = 0;

  /// All rows where they lie in memory, to be read in place; empty where they do not.
  virtual std::span<float> resident() { return {}; }

  /// Everything that it has learned, by name, as arrays over its own memory: a checkpoint keeps and
  /// restores it through them. "rows" is f32 [rows(), dim()].
  virtual std::vector<std::pair<std::string, Array>> kept() = 0;
};

}  // namespace sluice
