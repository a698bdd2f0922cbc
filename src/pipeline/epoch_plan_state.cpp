#include "pipeline/epoch_plan_state.h"

#include "core/threads.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <future>
#include <utility>

#include <malloc.h>

namespace sluice {

EpochPlan::State::State(GraphData::State& data,
                        const DiskProfile& disk,
                        const EpochPlanOptions& options,
                        MemoryLedger& ledger)
    : setting{
          data,
          disk,
          options,
          ledger,
          StageClock("plan", options.trace),
          StageClock("repack", options.trace),
          [this] { return stopping || (setting.options.stopped && setting.options.stopped()); }} {}

// Caches go through windows for the plan alone: afterwards none may seem to hold what never came.
void EpochPlan::State::clear_caches() noexcept {
  setting.data.clear_caches();
  caches_ahead = false;
}

void EpochPlan::State::end() noexcept {
  if (std::exchange(ended, true)) return;
  stopping = true;
  if (beside.joinable()) beside.join();
  leave_caches();
}

// For others, if they were this plan's.
void EpochPlan::State::leave_caches() noexcept {
  if (caches_ahead) clear_caches();
}

void EpochPlan::State::open_part() {
  parts.reserve(2);  // the first stays where it is, for it may be planned meanwhile
  Part part{windows, {}};
  part.types.resize(setting.data.features.size());
  for (std::size_t type = 0; type < part.types.size(); ++type) {
    if (!setting.data.on_disk(type)) continue;
    part.types[type] = std::make_unique<PlanPart>(
        setting, type, windows_before + static_cast<std::uint32_t>(windows));
  }
  parts.push_back(std::move(part));
}

// Mini-batches that are kept on the disk may have left no room there.
void EpochPlan::State::add_window(PlanPart& part,
                                  std::span<const std::uint64_t> ids,
                                  WindowSource& source) {
  try {
    part.lists.add_window(ids);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource || !source.free_disk()) throw;
    part.lists.add_window(ids);
  }
}

// Samples so many mini-batches or a few more into a part of their own. False at the end of the
// epoch.
bool EpochPlan::State::sample(WindowSource& source, std::uint64_t batches) {
  const TraceSpan span(setting.options.trace, "sample ahead");
  for (std::uint64_t sampled = 0; sampled < batches;) {
    const auto window = source.sample();
    if (!window) return false;
    setting.check_stopped();
    if (sampled == 0) open_part();
    sampled += window->batches.size();
    ++windows;
    for (std::size_t type = 0; type < parts.back().types.size(); ++type) {
      if (PlanPart* part = parts.back().types[type].get())
        add_window(*part, window->rows[type]->ids(), source);
    }
  }
  return true;
}

// Adds to the plan in the order of the parts: more of them are there from now on.
void EpochPlan::State::announce(std::size_t parts_planned) {
  if (parts_planned == parts.size() && !setting.options.followed) clear_caches();
  const MutexLock lock(mutex);
  for (; planned < parts_planned; ++planned) {
    for (const auto& part : parts[planned].types) {
      if (part) reasons.push_back(reason_of(parts[planned], *part));
    }
  }
  changed.notify_all();
}

std::string EpochPlan::State::reason_of(const Part& part, const PlanPart& of_type) const {
  if (part.first_window != 0)
    return fmt::format("from window {} on: {}", part.first_window + 1, of_type.reason());
  if (ahead) return "beside the epoch before: " + of_type.reason();
  return of_type.reason();
}

void EpochPlan::State::plan_first(std::uint64_t bytes, PlanPart::Place place) {
  Busy busy(setting.planning);
  caches_ahead = true;
  for (const auto& part : parts.front().types) {
    if (!part) continue;
    {
      const TraceSpan span(setting.options.trace, "find next uses");
      part->lists.find_next_uses(
          left_of(bytes), setting.ledger, [this] { setting.check_stopped(); });
    }
    part->plan(left_of(bytes), place, busy);
    taken += part->taken_bytes();
  }
}

// Of the later part; and when the rows that the first one leaves in the caches are asked for next.
void EpochPlan::State::find_later_uses(std::uint64_t bytes) {
  const Busy busy(setting.planning);
  const TraceSpan span(setting.options.trace, "find next uses");
  for (std::size_t type = 0; type < parts.back().types.size(); ++type) {
    if (!parts.back().types[type]) continue;
    RowCache& cache = *setting.data.caches[type];
    parts.back().types[type]->lists.find_next_uses(
        bytes,
        setting.ledger,
        [this] { setting.check_stopped(); },
        [&](std::uint64_t first, std::span<const std::uint32_t> uses) {
          cache.tell_next_uses(first, uses);
        });
  }
}

void EpochPlan::State::plan_later(std::uint64_t bytes, PlanPart::Place place) {
  Busy busy(setting.planning);
  for (const auto& part : parts.back().types) {
    if (part) part->plan(bytes, place, busy);
  }
}

void EpochPlan::State::plan_beside_training(std::uint64_t bytes) {
  // Whole, for from here on rows are filled in while the caches go on.
  for (std::size_t type = 0; type < parts.back().types.size(); ++type) {
    if (parts.back().types[type]) (void)setting.data.caches[type]->table();
  }
  beside = std::jthread([this, bytes] {
    try {
      give_way_to_others();
      if (setting.options.trace != nullptr) setting.options.trace->name_thread("plan");
      plan_later(bytes, PlanPart::Place::kLast);
      announce(parts.size());
    } catch (...) {
      const MutexLock lock(mutex);
      failure = std::current_exception();
      changed.notify_all();
    }
  });
}

// Samples all, and plans the first part: if there is another, while that is sampled.
void EpochPlan::State::sample_and_plan(WindowSource& source) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const EpochPlanOptions& options = setting.options;
  std::future<void> first;
  {
    const Busy busy(setting.planning);
    const bool more = sample(source, options.first_part == 0 ? kAll : options.first_part);
    if (more) {
      first = std::async(std::launch::async, [this] {
        if (setting.options.trace != nullptr) setting.options.trace->name_thread("plan");
        plan_first(setting.options.beside_sampling, PlanPart::Place::kFirst);
      });
      sample(source, kAll);
    }
    // Mini-batches that were freed stay with malloc otherwise, beside the cache's rows, which take
    // their room in the budget from here on: up to 180 MiB were, of a budget of 1.2 GiB.
    ::malloc_trim(0);
  }
  if (first.valid()) return first.get();
  if (!parts.empty()) plan_first(options.buffer_bytes, PlanPart::Place::kOnly);
}

// Types are planned one after the other; the checksums of all stay.
EpochPlan::State::Need EpochPlan::State::need_beside_training() const {
  Need need;
  const bool last = parts.size() > 1;
  for (const auto& part : parts.back().types) {
    if (!part) continue;
    need.sums += part->sum_bytes();
    need.most = std::max(
        need.most, last ? part->bytes_beside_training_as_last() : part->bytes_beside_training());
  }
  return need;
}

void EpochPlan::State::plan_rest() {
  if (parts.size() < 2) return announce(parts.size());
  const EpochPlanOptions& options = setting.options;
  find_later_uses(left_of(options.buffer_bytes));
  const std::uint64_t bytes = options.beside_training ? options.beside_training() : 0;
  const Need need = need_beside_training();
  if (need.sums + need.most <= bytes) {
    announce(1);
    return plan_beside_training(bytes - need.sums);
  }
  plan_later(left_of(options.buffer_bytes), PlanPart::Place::kLast);
  announce(parts.size());
}

// The caches' bookkeeping changes hands.
void EpochPlan::State::go_on_from(State& before) {
  windows_before = before.windows_before + static_cast<std::uint32_t>(before.windows);
  caches_ahead = before.caches_ahead.exchange(false);
  if (!caches_ahead) throw Error(ErrorCode::kInternal, "a plan goes on from one that was ended");
}

// Of the checksums of all runs.
std::uint64_t EpochPlan::State::sum_bytes() const {
  std::uint64_t bytes = 0;
  for (const Part& part : parts) {
    for (const auto& of_type : part.types) bytes += of_type ? of_type->sum_bytes() : 0;
  }
  return bytes;
}

void EpochPlan::State::plan_all_beside_training(std::uint64_t sum_bytes) {
  const std::uint64_t bytes = setting.options.beside_training();
  const Need need = need_beside_training();
  const std::uint64_t stay = sums_before + need.sums;
  if (stay + need.most > bytes) {
    throw Error(ErrorCode::kResource,
                fmt::format("planning it takes {} beside training, there are {}",
                            format_bytes(stay + need.most),
                            format_bytes(bytes)));
  }
  if (need.sums > sum_bytes) {
    throw Error(ErrorCode::kResource,
                fmt::format("its checksums take {}, there are {} for them meanwhile",
                            format_bytes(need.sums),
                            format_bytes(sum_bytes)));
  }
  const bool goes_on = caches_ahead;
  if (!goes_on) clear_caches();
  caches_ahead = true;
  find_later_uses(bytes - stay);
  plan_later(bytes - stay, goes_on ? PlanPart::Place::kLast : PlanPart::Place::kAhead);
  announce(parts.size());
}

void EpochPlan::State::wait_until_planned() {
  MutexLock lock(mutex);
  while (planned != parts.size() && !failure) changed.wait(lock);
  if (failure) std::rethrow_exception(failure);
}

const EpochPlan::State::Part& EpochPlan::State::part_of(std::size_t window) const {
  if (window >= windows)
    throw Error(ErrorCode::kInternal, "a window is asked for that was not planned");
  return window >= parts.back().first_window ? parts.back() : parts.front();
}

}  // namespace sluice
