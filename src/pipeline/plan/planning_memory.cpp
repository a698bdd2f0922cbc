#include "pipeline/plan/planning_memory.h"

#include "pipeline/phases.h"
#include "pipeline/stream/window_keeper.h"
#include "pipeline/trace.h"

#include <algorithm>

namespace sluice {

// What caches keep that give back their rows' memory: it may have left the machine, if that is a
// virtual one, before it is taken again soon after. No more than half, so that there is room for
// packing.
std::uint64_t PlanningMemory::forget_rows(const WindowLimits& limits, std::uint64_t batch_bytes) {
  const TraceSpan span(options_.trace, "forget rows");
  std::uint64_t room = this->room();
  for (const auto& cache : data_.caches) room += cache ? cache->table.held_bytes() : 0;
  const std::uint64_t wanted = wish_for_keeping(sampler_, batch_bytes, limits);
  std::uint64_t left = std::min(room / 2, room - std::min(room, wanted));
  std::uint64_t held = 0;
  for (const auto& cache : data_.caches) {
    if (!cache) continue;
    const std::uint64_t row = std::max<std::uint64_t>(cache->table.row_bytes(), 1);
    cache->forget_rows(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left / row, cache->table.slots())));
    held += cache->table.held_bytes();
    left -= std::min(left, cache->table.held_bytes());
  }
  return held;
}

const IdleMemory& PlanningMemory::beside_training(const WindowLimits& limits) {
  if (idle_) return *idle_;
  std::uint64_t rows = 0;
  for (const std::uint64_t of_type : limits.rows) rows += of_type;
  // The budget has room for a group's, however many there were.
  const std::uint64_t made = std::max<std::uint64_t>(sampler_.workspaces(), 1);
  const std::uint64_t each = sampler_.release_workspaces() / made;
  return idle_.emplace(IdleMemory{each * sampler_.group_size() +
                                      Phases(memory_).live_windows() * RowIndex::kBytesAnId * rows +
                                      data_.spare_cache_bytes(),
                                  each});
}

}  // namespace sluice
