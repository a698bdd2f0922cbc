#include "pipeline/epoch_plan.h"

#include "pipeline/epoch_plan_state.h"
#include "storage/feature/disk_store.h"

#include <chrono>
#include <utility>

#include <malloc.h>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

EpochPlan::EpochPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}

EpochPlan::~EpochPlan() = default;

std::unique_ptr<EpochPlan> EpochPlan::make(GraphData::State& data,
                                           WindowSource& windows,
                                           const LoaderStart& where,
                                           const WindowLimits& limits,
                                           const DiskProfile& disk,
                                           const EpochPlanOptions& options,
                                           MemoryLedger& ledger) {
  const auto begin = SteadyClock::now();
  auto state = std::make_unique<State>(data, disk, options, ledger);
  windows.begin(where, limits);
  state->sample_and_plan(windows);
  windows.begin(where, limits);
  state->plan_rest();
  state->seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return std::unique_ptr<EpochPlan>(new EpochPlan(std::move(state)));
}

std::unique_ptr<EpochPlan> EpochPlan::ahead(GraphData::State& data,
                                            const DiskProfile& disk,
                                            const EpochPlanOptions& options,
                                            MemoryLedger& ledger) {
  auto state = std::make_unique<State>(data, disk, options, ledger);
  state->ahead = true;
  return std::unique_ptr<EpochPlan>(new EpochPlan(std::move(state)));
}

void EpochPlan::follow(EpochPlan& before, Caches caches) {
  before.state_->wait_until_planned();
  state_->sums_before = before.state_->sum_bytes();
  if (caches == Caches::kGoingOn) return state_->go_on_from(*before.state_);
  before.state_->leave_caches();
}

void EpochPlan::sample(WindowSource& windows,
                       const LoaderStart& where,
                       const WindowLimits& limits) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  windows.begin(where, limits);
  {
    const Busy busy(state_->setting.planning);
    state_->sample(windows, kAll);
  }
  windows.begin(where, limits);
  ::malloc_trim(0);
}

void EpochPlan::plan_beside(std::uint64_t sum_bytes) {
  state_->plan_all_beside_training(sum_bytes);
}

void EpochPlan::wait_for(std::size_t window) {
  State& state = *state_;
  const auto part = static_cast<std::size_t>(&state.part_of(window) - state.parts.data());
  if (part < state.begun) return;
  {
    MutexLock lock(state.mutex);
    while (state.planned <= part && !state.failure) state.changed.wait(lock);
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

void EpochPlan::drop_packed() {
  for (const State::Part& part : state_->parts) {
    for (const auto& of_type : part.types) {
      if (of_type) of_type->drop_packed();
    }
  }
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
  const MutexLock lock(state_->mutex);
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
      all.writes += traffic.writes;
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
