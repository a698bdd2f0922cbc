// ProductWalk: all products of a tree, panel by panel: a panel of the root is made resident, each
// product of it streams its edges once, and products of products are read back as panels.
#pragma once

#include "prep/prep_context.h"
#include "prep/propagate/panel_product.h"
#include "prep/propagate/propagation_plan.h"
#include "prep/propagate/row_source.h"
#include "storage/feature/panel_table.h"
#include "storage/format/manifest.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice {

/// What a walk is made in.
struct WalkPlace {
  const std::filesystem::path& dataset;
  const Manifest& manifest;
  std::filesystem::path scratch;  ///< folder of files without a name
  PrepContext& context;
  DType dtype = DType::kF16;  ///< of products
  ProductWeights weights{};
  std::uint64_t chunk_bytes = 1 << 20;
};

/// The rows of a tree's root: one of the two.
struct WalkRoot {
  RowSource* rows = nullptr;
  const PanelTable* panels = nullptr;  ///< cut as the plan says
};

/// A product's rows; null for one that is not kept.
using ProductTables = std::vector<std::unique_ptr<PanelTable>>;

/// Throws Error.
ProductTables make_products(const WalkPlace& place, const TreePlan& plan, const WalkRoot& root);

/// Rows of a table that go by at a time: those that fit `chunk_bytes` with a u64 each, one at
/// least.
std::uint64_t chunk_rows(std::uint64_t chunk_bytes, std::size_t row_bytes);

}  // namespace sluice
