#include "pipeline/window_budget.h"

#include "pipeline/stage/row_fetcher.h"
#include "pipeline/stream/batch_spool.h"
#include "pipeline/stream/window_sampler.h"
#include "storage/feature/packed_rows.h"

#include <sluice/cache_policy.h>

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

// Sampled blocks beyond one mini-batch a window may take so much of the bytes: larger windows read
// more rows of each page they touch, but leave less room for rows that later windows ask for again.
constexpr std::uint64_t kBlockPercent = 20;
constexpr std::uint64_t kAskedBlockPercent = 50;  // where the options name the window

// Of the rows that there is room for, what a window may ask for where it holds no blocks: it and
// the one before stay, the rest is for rows that later windows ask for again.
constexpr std::uint64_t kShareOfRows = 3;

// What windows without blocks take instead, as bytes of so many mini-batches: the one that is
// brought has its row numbers too, and some more for what is small.
constexpr std::uint64_t kBrought = 2;

// A mini-batch whose reads are shared takes its positions, its answers and itself while it is
// sampled; and some more for what is small.
constexpr std::uint64_t kCopiesSampled = 4;
constexpr std::uint64_t kSpareBytes = 16 << 20;

// What windows take for each distinct row besides its slot in the cache. Rows of windows that were
// kept are numbered.
std::uint64_t list_bytes(const Phases& phases) {
  const std::uint64_t index = phases.rows_are_numbered() ? 0 : RowIndex::kBytesAnId;
  return phases.live_windows() * (index + sizeof(std::uint32_t)) + RowFetcher::kBytesARow;
}

std::uint64_t cache_bytes(const GraphData::State& data, std::size_t table, std::uint64_t slots) {
  return RowCache::bytes_of(slots, data.tables[table].store->row_bytes()) +
         RowDirectory::bytes_of_table(data.tables[table].rows());
}

// Blocks, and the numbers of the rows that they need.
std::uint64_t sampled_bytes(const GraphData::State& data, const BatchSizes& batch) {
  std::uint64_t bytes = batch.blocks;
  for (std::size_t table = 0; table < batch.rows.size(); ++table) {
    if (data.on_disk(table)) bytes += batch.rows[table] * sizeof(std::uint32_t);
  }
  return bytes;
}

// How often each node is a neighbour is counted before there are caches, and may be held by them.
std::uint64_t hotness_bytes(const GraphData::State& data) {
  const CachePolicyKind& policy = *data.options.cache;
  if (!policy.needs_hotness() && policy.share() == CacheShare::kAsked) return 0;
  std::uint64_t nodes = 0;
  const std::vector<NodeTypeSchema>& types = data.graph.schema->nodes;
  for (std::size_t type = 0; type < types.size(); ++type) {
    bool counted = false;
    for (std::size_t table = 0; table < data.tables.size(); ++table)
      counted = counted || (data.on_disk(table) && data.tables[table].owner == type &&
                            data.tables[table].of == FeatureTable::Of::kNodes);
    if (counted) nodes += types[type].count;
  }
  return nodes * sizeof(std::uint32_t);
}

}  // namespace

std::uint64_t reading_back_bytes(const GraphData::State& data) {
  const PlanChoice plan = data.options.plan;
  const bool packs = plan == PlanChoice::kRepack ||
                     (plan == PlanChoice::kAuto && data.options.cache->wants_next_uses());
  if (!packs) return 0;
  std::uint64_t tables = 0;
  for (std::size_t table = 0; table < data.tables.size(); ++table)
    tables += data.on_disk(table) ? 1u : 0u;
  return tables * std::max(data.options.staging_bytes, PackedRows::kRequestBytes);
}

std::uint64_t least_window_bytes(const GraphData::State& data,
                                 const BatchSizes& batch,
                                 const Phases& phases) {
  std::uint64_t bytes = hotness_bytes(data) + phases.live_windows() * sampled_bytes(data, batch);
  for (std::size_t table = 0; table < batch.rows.size(); ++table) {
    if (!data.on_disk(table)) continue;
    const std::uint64_t rows = batch.rows[table];
    bytes += cache_bytes(data, table, rows + 1) + rows * list_bytes(phases);
  }
  return bytes;
}

TurnBytes turn_bytes(const GraphData::State& data,
                     const BatchSizes& batch,
                     std::uint64_t batches,
                     std::uint64_t group) {
  TurnBytes turns;
  const std::uint64_t sampled = sampled_bytes(data, batch);
  turns.sampling = kCopiesSampled * group * sampled + kSpareBytes;
  turns.kept = BatchSpool::buffer_bytes(sampled);
  for (std::size_t table = 0; table < batch.rows.size(); ++table) {
    if (!data.on_disk(table)) continue;
    const std::uint64_t rows = batch.rows[table];
    turns.sampling += rows * (RowIndex::kBytesAnId + sizeof(std::uint32_t));
    const std::uint64_t pages = rows * data.tables[table].store->row_bytes() / kPageBytes + 1;
    turns.kept += batches * pages * sizeof(std::uint32_t);
  }
  return turns;
}

namespace {

// The split for windows of so many mini-batches like this one.
WindowBudget split_for(const GraphData::State& data,
                       const BatchSizes& batch,
                       std::uint64_t window_bytes,
                       std::uint64_t batches,
                       const WindowKind& kind) {
  const std::size_t tables = data.tables.size();
  WindowBudget budget;
  budget.cached_bytes.resize(tables);
  budget.least_slots.resize(tables);
  budget.limits.rows.resize(tables);
  budget.limits.most_rows.resize(tables);
  const std::uint64_t one = sampled_bytes(data, batch);
  budget.limits.block_bytes = kind.known ? WindowLimits::kNoBlocks : batches * one;
  std::uint64_t others = hotness_bytes(data);
  others += kind.known ? kBrought * one : kind.phases.live_windows() * budget.limits.block_bytes;
  const std::uint64_t share = kind.known && kind.batches == 0 ? kShareOfRows : 2;
  // The lists are as long as windows have rows, and windows have rows as the cache has slots: half
  // of them at most, so that one window is read in while the one before is in use.
  for (std::size_t table = 0; table < tables; ++table) {
    if (!data.on_disk(table)) continue;
    const std::uint64_t rows = batch.rows[table];
    const std::size_t row_bytes = data.tables[table].store->row_bytes();
    const std::uint64_t room = window_bytes / (share * row_bytes + list_bytes(kind.phases));
    const std::uint64_t wanted = std::min({batches * rows, room, data.tables[table].rows()});
    budget.cached_bytes[table] = rows * row_bytes;
    budget.least_slots[table] = std::min(rows + rows / 4 + 1, data.tables[table].rows());
    budget.limits.rows[table] = std::max(wanted, rows);
    others += budget.limits.rows[table] * list_bytes(kind.phases);
  }
  budget.cache_bytes = window_bytes - std::min(window_bytes, others);
  return budget;
}

// Whether the caches hold what a window asks for, and a mini-batch that is a quarter larger.
bool holds(const GraphData::State& data, const WindowBudget& budget) {
  std::uint64_t least = 0;
  for (std::size_t table = 0; table < data.tables.size(); ++table) {
    if (!data.on_disk(table)) continue;
    const std::uint64_t slots = std::max(budget.limits.rows[table], budget.least_slots[table]);
    least += cache_bytes(data, table, slots);
  }
  return least <= budget.cache_bytes;
}

// Mini-batches whose blocks have room, or, of windows that hold none, all.
std::uint64_t batches_in(const GraphData::State& data,
                         const BatchSizes& batch,
                         std::uint64_t window_bytes,
                         const WindowKind& kind) {
  const auto asked = static_cast<std::uint64_t>(kind.batches);
  if (kind.known) return asked > 0 ? asked : kMaxWindow;
  const std::uint64_t percent = asked > 0 ? kAskedBlockPercent : kBlockPercent;
  const std::uint64_t one = std::max<std::uint64_t>(sampled_bytes(data, batch), 1);
  const std::uint64_t batches =
      std::max<std::uint64_t>(window_bytes / 100 * percent / (kind.phases.live_windows() * one), 1);
  return asked > 0 ? std::min(batches, asked) : batches;
}

}  // namespace

WindowBudget split_window_bytes(const GraphData::State& data,
                                const BatchSizes& batch,
                                std::uint64_t window_bytes,
                                const WindowKind& kind) {
  if (!data.rows_on_disk()) {
    WindowBudget budget;
    budget.least_slots.resize(data.tables.size());
    budget.limits.block_bytes = window_bytes / kind.phases.live_windows();
    budget.limits.rows.resize(data.tables.size());
    budget.limits.most_rows.resize(data.tables.size());
    return budget;
  }
  std::uint64_t batches = batches_in(data, batch, window_bytes, kind);
  WindowBudget budget = split_for(data, batch, window_bytes, batches, kind);
  while (batches > 1 && !holds(data, budget)) {
    batches /= 2;
    budget = split_for(data, batch, window_bytes, batches, kind);
  }
  return budget;
}

WindowLimits within(WindowLimits limits, const std::vector<std::uint64_t>& slots) {
  for (std::size_t table = 0; table < slots.size(); ++table) {
    if (slots[table] == 0) continue;
    limits.rows[table] = std::min(limits.rows[table], slots[table] / 2);
    limits.most_rows[table] = slots[table];
  }
  return limits;
}

}  // namespace sluice
