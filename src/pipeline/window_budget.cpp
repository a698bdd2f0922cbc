#include "pipeline/window_budget.h"

#include "pipeline/row_fetcher.h"

#include <algorithm>

namespace sluice {
namespace {

// Sampled blocks beyond one mini-batch a window may take so much of the bytes: larger windows read
// more rows of each page they touch, but leave less room for rows that later windows ask for again.
constexpr std::uint64_t kBlockPercent = 20;
constexpr std::uint64_t kAskedBlockPercent = 50;  // where the options name the window

// What windows take for each distinct row besides its slot in the cache.
constexpr std::uint64_t kListBytes =
    kLiveWindows * (RowIndex::kBytesAnId + sizeof(std::uint32_t)) + RowFetcher::kBytesARow;

std::uint64_t rows_of(const Batch& batch, std::size_t type) {
  return static_cast<std::uint64_t>(batch.nodes[type].ids.numel());
}

std::uint64_t cache_bytes(const GraphData::State& data, std::size_t type, std::uint64_t slots) {
  return RowCache::bytes_of(slots, data.features[type]->row_bytes()) +
         RowCache::bytes_of_table(data.graph.schema->nodes[type].count);
}

// Blocks, and the numbers of the rows that they need.
std::uint64_t sampled_bytes(const GraphData::State& data, const Batch& batch) {
  std::uint64_t bytes = block_bytes(batch);
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    if (data.on_disk(type)) bytes += rows_of(batch, type) * sizeof(std::uint32_t);
  }
  return bytes;
}

}  // namespace

std::uint64_t least_window_bytes(const GraphData::State& data, const Batch& batch) {
  std::uint64_t bytes = kLiveWindows * sampled_bytes(data, batch);
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    if (!data.on_disk(type)) continue;
    const std::uint64_t rows = rows_of(batch, type);
    bytes += cache_bytes(data, type, rows + 1) + rows * kListBytes;
  }
  return bytes;
}

namespace {

// The split for windows of so many mini-batches like this one.
WindowBudget split_for(const GraphData::State& data,
                       const Batch& batch,
                       std::uint64_t window_bytes,
                       std::uint64_t batches) {
  const std::size_t types = data.features.size();
  WindowBudget budget;
  budget.cached_bytes.resize(types);
  budget.least_slots.resize(types);
  budget.limits.rows.resize(types);
  budget.limits.most_rows.resize(types);
  budget.limits.block_bytes = batches * sampled_bytes(data, batch);
  std::uint64_t others = kLiveWindows * budget.limits.block_bytes;
  // The lists are as long as windows have rows, and windows have rows as the cache has slots: half
  // of them at most, so that one window is read in while the one before is in use.
  for (std::size_t type = 0; type < types; ++type) {
    if (!data.on_disk(type)) continue;
    const std::uint64_t rows = rows_of(batch, type);
    const std::size_t row_bytes = data.features[type]->row_bytes();
    const std::uint64_t room = window_bytes / (2 * row_bytes + kListBytes);
    const std::uint64_t wanted =
        std::min({batches * rows, room, data.graph.schema->nodes[type].count});
    budget.cached_bytes[type] = rows * row_bytes;
    budget.least_slots[type] = std::min(rows + rows / 4 + 1, data.graph.schema->nodes[type].count);
    budget.limits.rows[type] = std::max(wanted, rows);
    others += budget.limits.rows[type] * kListBytes;
  }
  budget.cache_bytes = window_bytes - std::min(window_bytes, others);
  return budget;
}

// Whether the caches hold what a window asks for, and a mini-batch that is a quarter larger.
bool holds(const GraphData::State& data, const WindowBudget& budget) {
  std::uint64_t least = 0;
  for (std::size_t type = 0; type < data.features.size(); ++type) {
    if (!data.on_disk(type)) continue;
    const std::uint64_t slots = std::max(budget.limits.rows[type], budget.least_slots[type]);
    least += cache_bytes(data, type, slots);
  }
  return least <= budget.cache_bytes;
}

}  // namespace

WindowBudget split_window_bytes(const GraphData::State& data,
                                const Batch& batch,
                                std::uint64_t window_bytes,
                                std::int64_t window) {
  bool disk = false;
  for (std::size_t type = 0; type < data.features.size(); ++type) disk = disk || data.on_disk(type);
  if (!disk) {
    WindowBudget budget;
    budget.least_slots.resize(data.features.size());
    budget.limits.block_bytes = window_bytes / kLiveWindows;
    budget.limits.rows.resize(data.features.size());
    budget.limits.most_rows.resize(data.features.size());
    return budget;
  }
  const std::uint64_t percent = window > 0 ? kAskedBlockPercent : kBlockPercent;
  const std::uint64_t one = std::max<std::uint64_t>(sampled_bytes(data, batch), 1);
  std::uint64_t batches =
      std::max<std::uint64_t>(window_bytes / 100 * percent / (kLiveWindows * one), 1);
  if (window > 0) batches = std::min(batches, static_cast<std::uint64_t>(window));
  WindowBudget budget = split_for(data, batch, window_bytes, batches);
  while (batches > 1 && !holds(data, budget)) {
    batches /= 2;
    budget = split_for(data, batch, window_bytes, batches);
  }
  return budget;
}

}  // namespace sluice
