// PropagationPlan: which products are made of which tables, by how many columns at a time, and what
// that reads and writes: from a manifest, options and a budget alone. Private to propagate.
#pragma once

#include "prep/propagate/edge_operator.h"
#include "prep/propagate/panel_product.h"
#include "prep/propagate/product_tree.h"
#include "prep/propagate/propagate.h"
#include "storage/feature/panel_table.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// The products of one table.
struct TreePlan {
  ProductTree tree;
  DType dtype = DType::kF32;       ///< of the root's rows
  std::uint64_t stored_bytes = 0;  ///< of the root on disk; 0: it is made up
  bool made = false;               ///< the root is a table of panels that the round before made
  PanelShape shape{};              ///< of the root; products have its columns and panels
  /// Whether the root is cut into a table of panels first, rather than read whole for each panel.
  bool cut_first() const { return stored_bytes != 0 && shape.panels() > 2; }
};

struct PropagationPlan {
  std::size_t target = 0;  ///< place in GraphSchema::nodes
  Weighting weighting = Weighting::kMean;
  std::vector<EdgeOperator> operators;
  /// Trees one after the other; of random projection by round, each from what the one before made.
  std::vector<std::vector<TreePlan>> rounds;
  std::uint64_t chunk_bytes = 0;      ///< of rows on their way
  std::uint64_t staging_bytes = 0;    ///< of a feature store
  PropagationReport report;           ///< but for the generation
  std::vector<std::string> warnings;  ///< of what the graph has that propagation goes past

  /// Columns of a type's rows: those of its table, or of what is made up for it.
  std::vector<std::uint32_t> columns;
};

/// A plan's trees and tables, with no panels, shares of memory and bytes moved yet. Throws Error:
/// kUsage for what the dataset does not have, and for names of tables.
PropagationPlan plan_trees(const GraphSchema& schema, const PropagationOptions& options);

/// The whole plan. Throws Error: kUsage, kResource.
PropagationPlan make_plan(const Manifest& manifest,
                          const PropagationOptions& options,
                          std::uint64_t memory);

/// The table that a type gives; null: none.
const FeatureSchema* table_of(const NodeTypeSchema& node, const PropagationOptions& options);

/// Of kLabels: columns of the labels that a row has, and of the root: by part a column that says
/// whether a label is seen, then the labels that each part sees.
std::uint32_t label_columns(const NodeTypeSchema& node);
std::uint32_t label_root_columns(const NodeTypeSchema& node, const PropagationOptions& options);

}  // namespace sluice
