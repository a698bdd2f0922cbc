// FeatureTable: one table of features that mini-batches carry rows of: a group of a node type's, or
// of a relation's. Windows, caches, plans and assembly go by table, whatever it belongs to.
#pragma once

#include <sluice/batch.h>
#include <sluice/feature_store.h>
#include <sluice/loader.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct FeatureTable {
  enum class Of : std::uint8_t { kNodes, kEdges };

  Of of = Of::kNodes;
  std::size_t owner = 0;  ///< index into GraphSchema::nodes, or ::relations
  std::size_t group = 0;  ///< index into BatchNodes::features, or Block::features
  std::string name;       ///< for people: that of the type or relation, and of the group if need be
  std::unique_ptr<FeatureStore> store;  ///< rows by dense node id, or by edge id

  std::uint64_t rows() const { return store->schema().rows; }
  bool on_disk() const { return rows() != 0 && store->placement() == "disk"; }
};

using FeatureTables = std::span<const FeatureTable>;

/// The tables of GraphDataOptions::feature_groups and ::edge_feature_groups, in the schema's order.
/// Throws kUsage for a group that nobody has, and what opening a store throws.
std::vector<FeatureTable> open_feature_tables(const Dataset& dataset,
                                              const GraphDataOptions& options);
/// The table's store, in another generation of its dataset.
std::unique_ptr<FeatureStore> open_feature_store(const Dataset& dataset,
                                                 const FeatureTable& table,
                                                 const GraphDataOptions& options);
/// The rows that its store would have in that generation.
std::uint64_t feature_rows(const Dataset& dataset, const FeatureTable& table);

/// Rows that a mini-batch asks of a table, repeats among them, in lists: of a type all its nodes,
/// of a relation the edges of each block.
std::vector<std::span<const std::uint64_t>> wanted_rows(const Batch& batch,
                                                        const FeatureTable& table);
std::uint64_t count_rows(const Batch& batch, const FeatureTable& table);

/// One such list, and the array that the rows' features go to.
struct FeatureList {
  std::size_t table = 0;  ///< index
  std::uint64_t first =
      0;  ///< where its rows begin among all that the mini-batch asks of the table
  std::span<const std::uint64_t> rows;
  Array* features = nullptr;
};

/// All lists of a mini-batch, table by table, as wanted_rows() has them. Makes room for the arrays,
/// which stay as they are.
std::vector<FeatureList> feature_lists(Batch& batch, FeatureTables tables);

}  // namespace sluice
