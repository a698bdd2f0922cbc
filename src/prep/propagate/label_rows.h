// Labels without echoes (Echoless-LP, 2026): training nodes fall into parts at random, all others
// are one more. The labels that a part sees are those of the other parts, so what arrives at a node
// along any path holds nothing of its own label. Columns are those of label_root_columns(): by part
// a 1 for each label that it sees, then by part the labels themselves.
//
// With predictions of a model of before, every node that is not trained on shows its class
// probabilities, and is of one of the parts: nothing of its own comes back to it either.
#pragma once

#include "prep/propagate/predicted_scores.h"
#include "prep/propagate/product_walk.h"
#include "prep/propagate/row_source.h"
#include "storage/feature/panel_table.h"
#include "storage/format/data_file_writer.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class LabelRows final : public RowSource {
 public:
  /// Loads labels and the split's training nodes; parts are drawn by (options.seed, node). Throws
  /// Error: kData where the split trains on a node that is not there.
  LabelRows(const Dataset& dataset,
            const NodeTypeSchema& node,
            const PropagationOptions& options,
            MemoryLedger& ledger);

  std::uint64_t rows() const override { return parts_.as<std::uint8_t>().size(); }
  std::uint32_t columns() const override { return (num_parts_ + 1) * (classes_ + 1); }
  DType dtype() const override { return DType::kF16; }
  std::uint64_t stored_bytes() const override;
  void read(std::uint64_t first_row, std::span<std::byte> out) override;

  std::uint32_t classes() const { return classes_; }
  /// The part of a node, whose columns are those that it may see; the number of parts for a node
  /// that shows nothing.
  std::uint32_t part_of(std::uint64_t node) const {
    return parts_.as<std::uint8_t>()[node] & ~kPredicted;
  }
  std::uint32_t num_parts() const { return num_parts_; }

 private:
  static constexpr std::uint32_t kPredicted = 0x80;  // of a node that shows a prediction

  bool has_class(std::uint64_t node, std::uint32_t of) const;
  void show(std::uint64_t node, std::span<std::uint16_t> out);

  LabelKind kind_;
  std::uint32_t num_parts_, classes_;
  Array labels_;
  Array parts_;                                 // u8 [nodes]: the part, and kPredicted
  std::unique_ptr<PredictedScores> predicted_;  // null: nobody shows predictions
  std::vector<double> shares_;                  // of one node's classes
};

/// Writes the rows of the labels that each node may see: its part's columns, times max(mass) /
/// mass, where mass is how much of labels came along: a node that sees fewer of them is not told
/// apart by that. A row that no label reached is 0.
void write_label_table(const PanelTable& products,
                       const LabelRows& labels,
                       const WalkPlace& place,
                       FeatureWriter& to);

}  // namespace sluice
