// LabelTable: labels in memory, of a node type or by edge id, as narrow as they go: classes below
// 255 take a byte each there, and come out as they are in the dataset.
#pragma once

#include <sluice/array.h>
#include <sluice/memory.h>

#include <cstdint>
#include <span>

namespace sluice {

class LabelTable {
 public:
  /// Of a type without labels.
  LabelTable() = default;
  /// @param labels as Dataset::labels() gives them
  /// @param ledger of the narrow ones; where it has no room the labels stay as they are
  LabelTable(Array labels, MemoryLedger* ledger);

  bool empty() const { return shape_.empty(); }
  /// Rows come first.
  const Array::Shape& shape() const { return shape_; }

  /// The labels of some rows, in the dataset's dtype and shape. Throws kResource.
  Array gather(std::span<const std::uint64_t> rows, MemoryLedger& ledger) const;

 private:
  Array::Shape shape_;
  Array labels_;  // of the shape; or u8 [rows], a class plus one
  bool narrow_ = false;
};

}  // namespace sluice
