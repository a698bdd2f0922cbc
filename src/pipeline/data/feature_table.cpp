#include "pipeline/data/feature_table.h"

#include "core/feature_groups.h"
#include "device/device.h"  // IWYU pragma: keep, it is a HostPinning

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

// The tables of one kind of owner that options ask for.
template <class Owner>
void add_tables(FeatureTable::Of of,
                const std::vector<Owner>& owners,
                const std::vector<std::string>& groups,
                const auto& name_of,
                const auto& open,
                std::vector<FeatureTable>& all) {
  std::set<std::string> missing(groups.begin(), groups.end());
  missing.erase("");
  for (std::size_t owner = 0; owner < owners.size(); ++owner) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const FeatureSchema* const table = find_group(owners[owner].features, groups[group]);
      if (table == nullptr) continue;
      missing.erase(groups[group]);
      FeatureTable& added = all.emplace_back(FeatureTable{of, owner, group, {}, nullptr});
      added.name = name_of(owners[owner]);
      if (groups.size() > 1) added.name += " (" + table->name + ")";
      added.store = open(owner, table->name);
    }
  }
  if (missing.empty()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("no {} of the dataset has features '{}'",
                          of == FeatureTable::Of::kNodes ? "node type" : "relation",
                          fmt::join(missing, "', '")),
              "the dataset's manifest.json lists the tables of features by name");
}

std::unique_ptr<FeatureStore> open_store(const Dataset& dataset,
                                         FeatureTable::Of of,
                                         std::size_t owner,
                                         const std::string& group,
                                         const GraphDataOptions& options) {
  const FeatureStoreOptions where{
      options.features, options.io, options.staging_bytes, options.compute};
  const GraphSchema& schema = dataset.schema();
  if (of == FeatureTable::Of::kNodes)
    return dataset.features(schema.nodes.at(owner).name, where, group);
  return dataset.edge_features(schema.relations.at(owner).key(), where, group);
}

const std::vector<FeatureSchema>& features_of(const GraphSchema& schema,
                                              const FeatureTable& table) {
  return table.of == FeatureTable::Of::kNodes ? schema.nodes.at(table.owner).features
                                              : schema.relations.at(table.owner).features;
}

std::span<const std::uint64_t> ids_in(const Array& ids) {
  if (ids.empty()) return {};
  return ids.as<std::uint64_t>();
}

// Calls see(ids, features by group) for each list of the table.
template <class AnyBatch, class See>
void for_each_list(AnyBatch& batch, const FeatureTable& table, const See& see) {
  if (table.of == FeatureTable::Of::kNodes) {
    auto& nodes = batch.nodes.at(table.owner);
    see(ids_in(nodes.ids), nodes.features);
    return;
  }
  for (auto& layer : batch.layers) {
    for (auto& block : layer) {
      if (block.relation == table.owner) see(ids_in(block.edge_ids), block.features);
    }
  }
}

}  // namespace

std::vector<FeatureTable> open_feature_tables(const Dataset& dataset,
                                              const GraphDataOptions& options) {
  std::vector<FeatureTable> all;
  const auto opens = [&](FeatureTable::Of of) {
    return [&dataset, &options, of](std::size_t owner, const std::string& group) {
      return open_store(dataset, of, owner, group, options);
    };
  };
  using Of = FeatureTable::Of;
  const GraphSchema& schema = dataset.schema();
  const auto of_type = [](const NodeTypeSchema& type) { return type.name; };
  const auto of_edges = [](const RelationSchema& relation) { return "edges " + relation.key(); };
  add_tables(Of::kNodes, schema.nodes, options.feature_groups, of_type, opens(Of::kNodes), all);
  add_tables(
      Of::kEdges, schema.relations, options.edge_feature_groups, of_edges, opens(Of::kEdges), all);
  return all;
}

std::unique_ptr<FeatureStore> open_feature_store(const Dataset& dataset,
                                                 const FeatureTable& table,
                                                 const GraphDataOptions& options) {
  return open_store(dataset, table.of, table.owner, table.store->schema().name, options);
}

std::uint64_t feature_rows(const Dataset& dataset, const FeatureTable& table) {
  return find_group(features_of(dataset.schema(), table), table.store->schema().name)->rows;
}

std::vector<std::span<const std::uint64_t>> wanted_rows(const Batch& batch,
                                                        const FeatureTable& table) {
  std::vector<std::span<const std::uint64_t>> lists;
  for_each_list(
      batch, table, [&](std::span<const std::uint64_t> ids, const auto&) { lists.push_back(ids); });
  return lists;
}

std::uint64_t count_rows(const Batch& batch, const FeatureTable& table) {
  std::uint64_t rows = 0;
  for_each_list(
      batch, table, [&](std::span<const std::uint64_t> ids, const auto&) { rows += ids.size(); });
  return rows;
}

std::vector<FeatureList> feature_lists(Batch& batch, FeatureTables tables) {
  for (const FeatureTable& table : tables) {
    for_each_list(batch, table, [&](std::span<const std::uint64_t>, std::vector<Array>& groups) {
      groups.resize(std::max(groups.size(), table.group + 1));
    });
  }
  std::vector<FeatureList> lists;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::uint64_t first = 0;
    for_each_list(
        batch, tables[t], [&](std::span<const std::uint64_t> ids, std::vector<Array>& groups) {
          lists.push_back({t, first, ids, &groups[tables[t].group]});
          first += ids.size();
        });
  }
  return lists;
}

}  // namespace sluice
