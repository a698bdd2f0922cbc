#include "pipeline/epoch_plan.h"

#include "core/threads.h"
#include "pipeline/plan_part.h"
#include "storage/feature/disk_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <malloc.h>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Windows that are planned together.
struct Part {
  std::size_t first_window = 0;
  std::vector<std::unique_ptr<PlanPart>> types;  // null where features are in memory
};

}  // namespace

struct EpochPlan::State {
  State(GraphData::State& data,
        const DeviceProfile& device,
        const EpochPlanOptions& options,
        MemoryLedger& ledger)
      : setting{data,
                device,
                options,
                ledger,
                StageClock("plan", options.trace),
                StageClock("repack", options.trace),
                [this] {
                  return stopping || (setting.options.stopped && setting.options.stopped());
                }} {}

  ~State() { end(); }

  void end() noexcept;
  void clear_caches() noexcept;
  void open_part();
  bool sample(WindowSource& windows, std::uint64_t batches);
  void plan_first(std::uint64_t bytes, PlanPart::Place place);
  void find_later_uses();
  void plan_later(std::uint64_t bytes);
  void sample_and_plan(WindowSource& source);
  void plan_rest();
  void plan_beside_training(std::uint64_t bytes);
  void announce(std::size_t parts);
  // Of bytes that planning may take, those that caches did not take since.
  std::uint64_t left_of(std::uint64_t bytes) const { return bytes - std::min(bytes, taken); }
  const Part& part_of(std::size_t window) const;
  PlanPart& of(std::size_t window, std::size_t type) { return *part_of(window).types[type]; }
  const EpochLists::Step& step(std::size_t window, std::size_t type) {
    return of(window, type).lists.steps.at(window - part_of(window).first_window);
  }

  PlanSetting setting;
  std::atomic<bool> stopping = false;
  std::vector<Part> parts;  // one or two; all of them from the time on that all is sampled
  std::size_t windows = 0;
  std::uint64_t taken = 0;  // by caches for rows that packing the first part brought, bytes
  std::size_t begun = 0;    // parts that were waited for
  bool ended = false;
  double seconds = 0;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::size_t planned = 0;  // parts
  std::vector<std::string> reasons;
  std::exception_ptr failure;
  std::jthread beside;  // last: it uses the others
};

// Caches go through windows for the plan alone: afterwards none may seem to hold what never came.
void EpochPlan::State::clear_caches() noexcept {
  for (const auto& cache : setting.data.caches) {
    if (cache) cache->clear();
  }
}

void EpochPlan::State::end() noexcept {
  if (std::exchange(ended, true)) return;
  stopping = true;
  if (beside.joinable()) beside.join();
  if (planned < parts.size()) clear_caches();
}

void EpochPlan::State::open_part() {
  parts.reserve(2);  // the first stays where it is, for it may be planned meanwhile
  Part part{windows, {}};
  part.types.resize(setting.data.features.size());
  for (std::size_t type = 0; type < part.types.size(); ++type) {
    if (!setting.data.on_disk(type)) continue;
    part.types[type] =
        std::make_unique<PlanPart>(setting, type, static_cast<std::uint32_t>(windows));
  }
  parts.push_back(std::move(part));
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
        part->lists.add_window(window->rows[type]->index->ids());
    }
  }
  return true;
}

// Adds to the plan in the order of the parts: more of them are there from now on.
void EpochPlan::State::announce(std::size_t parts_planned) {
  if (parts_planned == parts.size()) clear_caches();
  const std::scoped_lock lock(mutex);
  for (; planned < parts_planned; ++planned) {
    for (const auto& part : parts[planned].types) {
      if (!part) continue;
      const std::size_t from = parts[planned].first_window;
      reasons.push_back(from == 0 ? part->reason()
                                  : fmt::format("from window {} on: {}", from + 1, part->reason()));
    }
  }
  changed.notify_all();
}

void EpochPlan::State::plan_first(std::uint64_t bytes, PlanPart::Place place) {
  Busy busy(setting.planning);
  for (const auto& part : parts.front().types) {
    if (!part) continue;
    {
      const TraceSpan span(setting.options.trace, "find next uses");
      part->lists.find_next_uses(
          left_of(bytes), setting.ledger, [this] { setting.check_stopped(); });
    }
    part->plan(left_of(bytes), place, busy);
    taken += part->cache_bytes();
  }
}

// Of the later part; and when the rows that the first one leaves in the caches are asked for next.
void EpochPlan::State::find_later_uses() {
  const Busy busy(setting.planning);
  const TraceSpan span(setting.options.trace, "find next uses");
  for (std::size_t type = 0; type < parts.back().types.size(); ++type) {
    if (!parts.back().types[type]) continue;
    RowCache& cache = *setting.data.caches[type];
    parts.back().types[type]->lists.find_next_uses(
        left_of(setting.options.buffer_bytes),
        setting.ledger,
        [this] { setting.check_stopped(); },
        [&](std::uint64_t first, std::span<const std::uint32_t> uses) {
          cache.tell_next_uses(first, uses);
        });
  }
}

void EpochPlan::State::plan_later(std::uint64_t bytes) {
  Busy busy(setting.planning);
  for (const auto& part : parts.back().types) {
    if (part) part->plan(bytes, PlanPart::Place::kLast, busy);
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
      plan_later(bytes);
      announce(parts.size());
    } catch (...) {
      const std::scoped_lock lock(mutex);
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

void EpochPlan::State::plan_rest() {
  if (parts.size() < 2) return announce(parts.size());
  find_later_uses();
  const EpochPlanOptions& options = setting.options;
  const std::uint64_t bytes = options.beside_training ? options.beside_training() : 0;
  // Types are planned one after the other; the checksums of all stay.
  std::uint64_t sums = 0;
  std::uint64_t most = 0;
  for (const auto& part : parts.back().types) {
    if (!part) continue;
    sums += part->sum_bytes();
    most = std::max(most, part->bytes_beside_training());
  }
  if (sums + most <= bytes) {
    announce(1);
    return plan_beside_training(bytes - sums);
  }
  plan_later(left_of(options.buffer_bytes));
  announce(parts.size());
}

const Part& EpochPlan::State::part_of(std::size_t window) const {
  if (window >= windows)
    throw Error(ErrorCode::kInternal, "a window is asked for that was not planned");
  return window >= parts.back().first_window ? parts.back() : parts.front();
}

EpochPlan::EpochPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}

EpochPlan::~EpochPlan() = default;

std::unique_ptr<EpochPlan> EpochPlan::make(GraphData::State& data,
                                           WindowSource& windows,
                                           const LoaderStart& where,
                                           const WindowLimits& limits,
                                           const DeviceProfile& device,
                                           const EpochPlanOptions& options,
                                           MemoryLedger& ledger) {
  const auto begin = SteadyClock::now();
  auto state = std::make_unique<State>(data, device, options, ledger);
  windows.begin(where, limits);
  state->sample_and_plan(windows);
  windows.begin(where, limits);
  state->plan_rest();
  state->seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return std::unique_ptr<EpochPlan>(new EpochPlan(std::move(state)));
}

void EpochPlan::wait_for(std::size_t window) {
  State& state = *state_;
  const auto part = static_cast<std::size_t>(&state.part_of(window) - state.parts.data());
  if (part < state.begun) return;
  {
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.planned > part || state.failure; });
    if (state.planned <= part) std::rethrow_exception(state.failure);
  }
  for (; state.begun <= part; ++state.begun) {
    for (std::size_t type = 0; type < state.parts[part].types.size(); ++type) {
      const PlanPart* begun = state.parts[state.begun].types[type].get();
      if (begun == nullptr) continue;
      if (begun->packed() != nullptr) begun->store().count_extra(begun->packed()->scan_stats());
      if (state.begun > 0) state.parts[state.begun - 1].types[type]->drop_packed();
    }
  }
}

void EpochPlan::stop() {
  state_->end();
}

WindowPlan EpochPlan::plan(std::size_t window, std::size_t type) const {
  return state_->step(window, type).plan;
}
std::uint32_t EpochPlan::gap(std::size_t window, std::size_t type) const {
  return state_->step(window, type).gap_bytes;
}
RowCache::Admission EpochPlan::rows(std::size_t window,
                                    std::size_t type,
                                    std::span<std::uint32_t> places,
                                    std::vector<WantedRow>& wanted) {
  wait_for(window);
  EpochLists& lists = state_->of(window, type).lists;
  const EpochLists::Step& step = state_->step(window, type);
  if (step.rows != places.size())
    throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  lists.read_places(step, places);
  lists.read_missing(step, wanted);
  return step.admission;
}
Result<void> EpochPlan::read_packed(std::size_t window,
                                    std::size_t type,
                                    std::span<const WantedRow> wanted,
                                    std::span<std::byte> table) {
  const std::size_t run = window - state_->part_of(window).first_window;
  return state_->of(window, type).packed()->read(run, wanted, table);
}
std::vector<std::string> EpochPlan::reasons() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->reasons;
}
double EpochPlan::seconds() const {
  return state_->seconds;
}
std::vector<StageTimes> EpochPlan::stages() const {
  return {state_->setting.planning.times(), state_->setting.packing.times()};
}

// Parts that nobody waited for yet are still being made.
EpochPlan::Traffic EpochPlan::traffic() const {
  Traffic all;
  for (std::size_t i = 0; i < state_->begun; ++i) {
    for (const auto& part : state_->parts[i].types) {
      if (!part) continue;
      const Traffic traffic = part->traffic();
      all.bytes_read += traffic.bytes_read;
      all.bytes_written += traffic.bytes_written;
      all.requests += traffic.requests;
      all.latency += traffic.latency;
    }
  }
  return all;
}

EpochPlan::ListBytes EpochPlan::list_bytes(std::uint64_t nodes,
                                           const ListSizes& sizes,
                                           std::uint64_t buffer_bytes) {
  return EpochLists::bytes(nodes, sizes, buffer_bytes);
}

}  // namespace sluice
