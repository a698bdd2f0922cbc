// Labels without echoes (Echoless-LP, 2026): training nodes fall into parts at random, all others
// are one more. The labels that a part sees are those of the other parts, so what arrives at a node
// along any path holds nothing of its own label. Columns are those of label_root_columns(): by part
// a 1 for each label that it sees, then by part the labels themselves.
#pragma once

#include "prep/propagate/product_walk.h"
#include "prep/propagate/row_source.h"
#include "storage/feature/panel_table.h"
#include "storage/format/data_file_writer.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <span>

namespace sluice {

class LabelRows final : public RowSource {
 public:
  /// Loads labels and the split's training nodes; parts are drawn by (options.seed, node). Throws
  /// Error.
  LabelRows(const Dataset& dataset,
            const NodeTypeSchema& node,
            const PropagationOptions& options,
            MemoryLedger& ledger);

  std::uint64_t rows() const override { return parts_.as<std::uint8_t>().size(); }
  std::uint32_t columns() const override { return (num_parts_ + 1) * (classes_ + 1); }
  DType dtype() const override { return DType::kF16; }
  std::uint64_t stored_bytes() const override { return 0; }
  void read(std::uint64_t first_row, std::span<std::byte> out) override;

  std::uint32_t classes() const { return classes_; }
  /// The part of a node, whose columns are those that it may see; the number of parts for a node
  /// that is not trained on.
  std::uint32_t part_of(std::uint64_t node) const { return parts_.as<std::uint8_t>()[node]; }
  std::uint32_t num_parts() const { return num_parts_; }

 private:
  bool has_class(std::uint64_t node, std::uint32_t of) const;

  LabelKind kind_;
  std::uint32_t num_parts_, classes_;
  Array labels_;
  Array parts_;  // u8 [nodes]
};

/// Writes the rows of the labels that each node may see: its part's columns, times max(mass) /
/// mass, where mass is how much of labels came along: a node that sees fewer of them is not told
/// apart by that. A row that no label reached is 0.
void write_label_table(const PanelTable& products,
                       const LabelRows& labels,
                       const WalkPlace& place,
                       FeatureWriter& to);

}  // namespace sluice
