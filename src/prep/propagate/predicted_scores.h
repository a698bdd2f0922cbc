// PredictedScores: what a model of before says of each node, as class probabilities, from a feature
// table of class scores (`sluice-prep attach`): what nodes without a label of their own show in
// later stages of training (SeHGNN, Yang et al. 2023).
#pragma once

#include "prep/propagate/row_source.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/dataset.h>
#include <sluice/memory.h>

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

class PredictedScores {
 public:
  /// What it takes beside the room for a row's classes.
  static constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;

  /// @param table of the type, with a column a class. @pre it is there
  PredictedScores(const Dataset& dataset,
                  const NodeTypeSchema& node,
                  const std::string& table,
                  MemoryLedger& ledger);

  /// The softmax of a node's scores, by class; f64 inside. Rows are read ahead: ask in ascending
  /// order. Throws Error(kData) where a score is not finite.
  void probabilities(std::uint64_t node, std::span<double> out);
  /// Bytes of the table, which are read once for each time that all nodes are gone through.
  std::uint64_t stored_bytes() const { return rows_.stored_bytes(); }

 private:
  std::span<const std::byte> row_of(std::uint64_t node);

  std::string name_;
  StoredRows rows_;
  AlignedBuffer buffer_;
  std::uint64_t first_ = 0, held_ = 0;  // rows in the buffer
};

}  // namespace sluice
