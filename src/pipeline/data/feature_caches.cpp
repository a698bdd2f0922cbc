// GraphData's row caches: their sizes by table, and the hotness that the static policy asks
// for.
#include "device/device.h"  // IWYU pragma: keep, it is a HostPinning
#include "pipeline/data/graph_data_state.h"
#include "storage/feature/cache_shares.h"
#include "storage/io/aligned_buffer.h"

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

// What one more slot takes, rounded up.
std::uint64_t bytes_of_slot(std::size_t row_bytes) {
  constexpr std::uint64_t kSlots = 4096;
  return (RowCache::bytes_of(kSlots, row_bytes) + kSlots - 1) / kSlots;
}

// Bytes by table of caches of `bytes` in all, by what is wanted of each: the least slots first,
// where all of these fit, so that a table of which little is wanted holds a mini-batch's rows.
std::vector<std::uint64_t> bytes_by_asking(const GraphData::State& data,
                                           std::uint64_t bytes,
                                           const std::vector<std::uint64_t>& wanted_bytes,
                                           const std::vector<std::uint64_t>& least_slots) {
  std::vector<std::uint64_t> own(data.tables.size());
  const auto is_wanted = [&](std::size_t table) {
    return data.on_disk(table) && wanted_bytes[table] != 0;
  };
  std::uint64_t wanted = 0, least = 0;
  for (std::size_t table = 0; table < own.size(); ++table) {
    if (!is_wanted(table)) continue;
    const std::uint64_t slots = std::min(least_slots[table], data.tables[table].rows());
    own[table] = RowCache::bytes_of(slots, data.tables[table].store->row_bytes());
    wanted += wanted_bytes[table];
    least += own[table];
  }
  if (least > bytes) std::fill(own.begin(), own.end(), 0);
  const std::uint64_t rest = least > bytes ? bytes : bytes - least;
  for (std::size_t table = 0; table < own.size(); ++table) {
    if (!is_wanted(table)) continue;
    const double share = static_cast<double>(wanted_bytes[table]) / static_cast<double>(wanted);
    own[table] += static_cast<std::uint64_t>(static_cast<double>(rest) * share);
  }
  return own;
}

}  // namespace

const std::shared_ptr<const Array>& GraphData::State::hotness_of(std::size_t type,
                                                                 MemoryLedger& ledger) {
  hotness.resize(graph.schema->nodes.size());
  if (!hotness[type])
    hotness[type] = std::make_shared<const Array>(count_neighbours(graph, type, ledger));
  return hotness[type];
}

CachedTable GraphData::State::cached_table(std::size_t table,
                                           const DiskProfile& on,
                                           MemoryLedger& ledger) {
  const std::size_t row_bytes = tables[table].store->row_bytes();
  CachedTable one;
  one.row_bytes = bytes_of_slot(row_bytes);
  one.miss_seconds = on.seconds_for(static_cast<double>(round_up_to_page(row_bytes)));
  // Of an edge nothing is known: each is used as often as another.
  if (tables[table].of == FeatureTable::Of::kNodes) {
    one.uses = rows_by_uses(hotness_of(tables[table].owner, ledger)->as<std::uint32_t>());
  } else {
    one.uses[1] = tables[table].rows();
  }
  return one;
}

std::vector<std::uint64_t> GraphData::State::bytes_by_uses(
    std::uint64_t bytes,
    const std::vector<std::uint64_t>& wanted_bytes,
    const std::vector<std::uint64_t>& least_slots,
    MemoryLedger& ledger) {
  std::vector<CachedTable> cached(tables.size());
  std::uint64_t least_bytes = 0;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!on_disk(table) || wanted_bytes[table] == 0) continue;
    CachedTable& one = cached[table];
    one = cached_table(table, *disk, ledger);
    // Two windows: one is read in while the other is in use.
    one.least_rows = std::min(2 * least_slots[table], tables[table].rows());
    least_bytes += one.least_rows * one.row_bytes;
  }
  if (least_bytes > bytes) return {};
  std::vector<std::uint64_t> rows = options.cache->share() == CacheShare::kRanked
                                        ? ranked_rows(cached, bytes)
                                        : proportional_rows(cached, bytes);
  for (std::size_t table = 0; table < tables.size(); ++table)
    rows[table] *= cached[table].row_bytes;
  return rows;
}

std::vector<std::uint64_t> GraphData::State::slots_for(
    std::uint64_t bytes,
    const std::vector<std::uint64_t>& wanted_bytes,
    const std::vector<std::uint64_t>& least_slots,
    MemoryLedger& ledger) {
  std::vector<std::uint64_t> slots(tables.size());
  std::uint64_t all_bits = 0;
  for (std::size_t table = 0; table < tables.size(); ++table)
    if (on_disk(table)) all_bits += RowDirectory::bytes_of_table(tables[table].rows());
  const std::uint64_t for_rows = bytes - std::min(bytes, all_bits);
  std::vector<std::uint64_t> own;
  if (options.cache->share() != CacheShare::kAsked)
    own = bytes_by_uses(for_rows, wanted_bytes, least_slots, ledger);
  if (own.empty()) own = bytes_by_asking(*this, for_rows, wanted_bytes, least_slots);
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!on_disk(table)) continue;
    const std::uint64_t room = RowCache::slots_in(own[table], tables[table].store->row_bytes());
    slots[table] = std::min<std::uint64_t>({room, tables[table].rows(), RowCache::kMaxSlots});
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
  hotness.clear();  // edges may have been appended
  const std::vector<std::uint64_t> slots = slots_for(bytes, wanted_bytes, least_slots, ledger);
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (slots[table] == 0) continue;
    RowCache::Options cache;
    cache.row_bytes = tables[table].store->row_bytes();
    cache.slots = static_cast<std::uint32_t>(slots[table]);
    cache.table_rows = tables[table].rows();
    cache.device = options.compute;
    HotnessOf hot;
    // Of an edge nothing is known: those that come first stay.
    const bool of_nodes = tables[table].of == FeatureTable::Of::kNodes;
    if (options.cache->needs_hotness() && of_nodes) {
      hot = [counts = hotness_of(tables[table].owner, ledger)](std::uint64_t id) {
        return counts->as<std::uint32_t>()[id];
      };
    } else if (options.cache->needs_hotness()) {
      hot = [](std::uint64_t) { return std::uint64_t{0}; };
    }
    caches[table] = std::make_unique<RowCache>(cache, options.cache->make(std::move(hot)), &ledger);
  }
  hotness.clear();  // what policies ask, they hold
}

}  // namespace sluice
