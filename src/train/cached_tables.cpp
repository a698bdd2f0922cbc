#include "train/cached_tables.h"

#include "pipeline/data/graph_data_state.h"
#include "storage/feature/cache_shares.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice {
namespace {

std::vector<std::size_t> feature_tables_on_disk(const GraphData::State& data) {
  std::vector<std::size_t> all;
  for (std::size_t table = 0; table < data.tables.size(); ++table)
    if (data.on_disk(table)) all.push_back(table);
  return all;
}

bool is_of_type(const FeatureTable& table, std::size_t type) {
  return table.of == FeatureTable::Of::kNodes && table.owner == type;
}

// Its cache beyond the least holds as many more rows as there are.
CachedTable cached_rows(const TableRows& rows, const DiskProfile& disk, TableAccess access) {
  const TableRowsNeeds needs = rows.needs();
  CachedTable one;
  const std::uint64_t more = std::max<std::uint64_t>(rows.rows() - needs.least_rows, 1);
  one.row_bytes =
      std::max<std::uint64_t>((needs.most_cache - needs.least_cache + more - 1) / more, 1);
  one.miss_seconds = rows.miss_seconds(disk, access);
  one.least_rows = needs.least_rows;
  return one;
}

}  // namespace

std::uint64_t counting_bytes(Parts& parts) {
  const GraphData::State& data = parts.data.state();
  if (data.options.cache->share() == CacheShare::kAsked) return 0;
  const std::vector<RowTables::Cached> learned = parts.tables.cached();
  const std::vector<std::size_t> features = feature_tables_on_disk(data);
  if (learned.empty() || learned.size() + features.size() < 2) return 0;
  // One node type at a time.
  const std::vector<NodeTypeSchema>& types = data.graph.schema->nodes;
  std::uint64_t most = 0;
  for (const RowTables::Cached& table : learned) most = std::max(most, types[table.type].count);
  for (const std::size_t table : features)
    if (data.tables[table].of == FeatureTable::Of::kNodes)
      most = std::max(most, types[data.tables[table].owner].count);
  return most * sizeof(std::uint32_t);
}

SharedCaches measure_caches(Parts& parts,
                            const MemoryNeeds& needs,
                            const DiskProfile& disk,
                            TableAccess access) {
  GraphData::State& data = parts.data.state();
  MemoryLedger& ledger = *parts.ledger;
  // Those that mini-batches were tried with, and what their policies hold: the first loader of the
  // run makes others.
  data.caches.clear();
  data.cache_bytes = 0;
  const std::vector<RowTables::Cached> learned = parts.tables.cached();
  SharedCaches caches;
  caches.share = data.options.cache->share();
  caches.learned.resize(learned.size());
  const auto add_features = [&](std::size_t table) {
    CachedTable one = data.cached_table(table, disk, ledger);
    // Windows have room for a mini-batch a quarter larger at the least.
    if (table < needs.asked_rows.size()) {
      const std::uint64_t asked = needs.asked_rows[table];
      one.least_rows = std::min(asked + asked / 4 + 1, data.tables[table].rows());
    }
    caches.features.push_back(std::move(one));
  };
  const std::vector<std::size_t> features = feature_tables_on_disk(data);
  for (std::size_t type = 0; type < data.graph.schema->nodes.size(); ++type) {
    for (const std::size_t table : features)
      if (is_of_type(data.tables[table], type)) add_features(table);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      if (learned[i].type != type) continue;
      // Rows of state are written by evaluations too.
      caches.learned[i] = cached_rows(
          *learned[i].table->rows, disk, learned[i].state ? TableAccess::kWrite : access);
      caches.learned[i].uses = rows_by_uses(data.hotness_of(type, ledger)->as<std::uint32_t>());
    }
    data.hotness.clear();
  }
  for (const std::size_t table : features)
    if (data.tables[table].of == FeatureTable::Of::kEdges) add_features(table);
  return caches;
}

std::vector<TableCache> table_caches(Parts& parts) {
  std::vector<TableCache> all;
  const GraphData::State& data = parts.data.state();
  for (std::size_t table = 0; table < data.caches.size(); ++table) {
    if (!data.caches[table]) continue;
    const SlotTable& slots = data.caches[table]->table;
    all.push_back({data.tables[table].name,
                   "features",
                   data.tables[table].rows(),
                   slots.slots(),
                   RowCache::bytes_of(slots.slots(), slots.row_bytes())});
  }
  for (const RowTables::Cached& cached : parts.tables.cached()) {
    const TableRows& rows = *cached.table->rows;
    all.push_back({data.graph.schema->nodes[cached.type].name,
                   cached.state ? "rows of state" : "learned rows",
                   rows.rows(),
                   rows.cached_rows(),
                   rows.cache_bytes()});
  }
  return all;
}

}  // namespace sluice
