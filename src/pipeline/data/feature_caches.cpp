// GraphData's row caches: their sizes by table, and the hotness that the static policy asks
// for.
#include "device/device.h"  // IWYU pragma: keep, it is a HostPinning
#include "pipeline/data/graph_data_state.h"

#include <sluice/cache_policy.h>

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

// How often each node of `type` is a neighbour, over all relations.
Array count_neighbours(const SamplerGraph& graph, std::size_t type, MemoryLedger& ledger) {
  const NodeTypeSchema& node = graph.schema->nodes[type];
  Array counts =
      Array::make(DType::kU32, {static_cast<std::int64_t>(node.count)}, &ledger, "node hotness")
          .or_throw();
  const std::span<std::uint32_t> count = counts.as<std::uint32_t>();
  std::fill(count.begin(), count.end(), 0u);
  constexpr std::uint64_t kPiece = 64 * 1024;
  std::vector<std::uint64_t> positions, ids;
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    if (graph.schema->relations[r].source != node.name) continue;
    Topology& topology = *graph.relations[r];
    for (std::uint64_t begin = 0; begin < topology.num_edges(); begin += kPiece) {
      const std::uint64_t size = std::min(kPiece, topology.num_edges() - begin);
      positions.resize(size);
      ids.resize(size);
      std::iota(positions.begin(), positions.end(), begin);
      topology.neighbours(positions, ids).or_throw();
      for (const std::uint64_t id : ids) count[id] += count[id] != ~std::uint32_t{0} ? 1u : 0u;
    }
  }
  return counts;
}

}  // namespace

std::vector<std::uint64_t> GraphData::State::slots_for(
    std::uint64_t bytes, const std::vector<std::uint64_t>& wanted_bytes) const {
  std::vector<std::uint64_t> slots(tables.size());
  const std::uint64_t wanted =
      std::accumulate(wanted_bytes.begin(), wanted_bytes.end(), std::uint64_t{0});
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!on_disk(table) || wanted == 0) continue;
    const std::uint64_t rows = tables[table].rows();
    const double share = static_cast<double>(wanted_bytes[table]) / static_cast<double>(wanted);
    const auto own = static_cast<std::uint64_t>(static_cast<double>(bytes) * share);
    const std::uint64_t bits = RowDirectory::bytes_of_table(rows);
    const std::uint64_t room =
        RowCache::slots_in(own - std::min(own, bits), tables[table].store->row_bytes());
    slots[table] = std::min<std::uint64_t>({room, rows, RowCache::kMaxSlots});
  }
  return slots;
}

std::uint64_t GraphData::State::spare_cache_bytes() const {
  std::uint64_t taken = 0;
  for (std::size_t table = 0; table < caches.size(); ++table) {
    if (!caches[table]) continue;
    taken += RowCache::bytes_of(caches[table]->table.slots(), caches[table]->table.row_bytes()) +
             RowDirectory::bytes_of_table(tables[table].rows());
  }
  return cache_bytes - std::min(cache_bytes, taken);
}

void GraphData::State::make_caches(std::uint64_t bytes,
                                   const std::vector<std::uint64_t>& wanted_bytes,
                                   const std::vector<std::uint64_t>& least_slots,
                                   MemoryLedger& ledger) {
  // Loaders of one run ask for a little more or less: what is cached is worth more than that.
  bool keep = !caches.empty() && cache_bytes <= bytes && cache_bytes >= bytes - bytes / 4;
  for (std::size_t table = 0; keep && table < caches.size(); ++table)
    keep = !caches[table] || caches[table]->table.slots() >= least_slots[table];
  if (keep) return;
  caches.clear();
  caches.resize(tables.size());
  cache_bytes = bytes;
  ++caches_made;
  const std::vector<std::uint64_t> slots = slots_for(bytes, wanted_bytes);
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (slots[table] == 0) continue;
    RowCache::Options cache;
    cache.row_bytes = tables[table].store->row_bytes();
    cache.slots = static_cast<std::uint32_t>(slots[table]);
    cache.table_rows = tables[table].rows();
    cache.device = options.compute;
    HotnessOf hotness;
    // Of an edge nothing is known: those that come first stay.
    const bool of_nodes = tables[table].of == FeatureTable::Of::kNodes;
    if (options.cache->needs_hotness() && of_nodes) {
      hotness = [counts = count_neighbours(graph, tables[table].owner, ledger)](std::uint64_t id) {
        return counts.as<std::uint32_t>()[id];
      };
    } else if (options.cache->needs_hotness()) {
      hotness = [](std::uint64_t) { return std::uint64_t{0}; };
    }
    caches[table] =
        std::make_unique<RowCache>(cache, options.cache->make(std::move(hotness)), &ledger);
  }
}

}  // namespace sluice
