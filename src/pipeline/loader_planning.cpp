// How a loader's epochs are planned: in which memory, and which of them beside the one before.
#include "core/interrupt.h"
#include "pipeline/loader_state.h"
#include "pipeline/plan_split.h"

#include <fmt/format.h>
#include <sluice/mutex.h>
#include <sluice/units.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastBatches = 16;  // of an epoch that is worth a thread beside training

}  // namespace

// Whether sampling ahead is of use: for the rows' next uses or for repacking.
bool Loader::State::may_plan() const {
  const GraphDataOptions& how = data.options;
  const bool useful = how.cache == "belady" || how.plan == PlanChoice::kRepack;
  bool disk = false;
  for (std::size_t type = 0; type < data.features.size(); ++type) disk = disk || data.on_disk(type);
  return useful && disk && !how.scratch.empty();
}

// Whether the epoch is sampled ahead, from a batch on.
bool Loader::State::planned(std::uint64_t first_batch) const {
  // One that is the last has no next uses; in turns it is sampled ahead all the same.
  const std::uint64_t least = memory.in_turns ? 1 : 2;
  return may_plan() && first_batch + least <= queries->num_batches();
}

// Where memory is used in turns all that is trained on must be planned.
void Loader::State::check_turns() const {
  if (planned(0) && !feed) return;
  throw Error(
      ErrorCode::kUsage,
      "sampling and steps cannot take turns in memory: epochs are not planned",
      "give GraphDataOptions a scratch folder, features on disk and the cache \"belady\", or "
      "leave out LoaderMemory::in_turns");
}

// An epoch was sampled, and its consumer has the memory from here on.
void Loader::State::give_up_sampling() {
  if (!sampler.all_kept()) {
    throw Error(
        ErrorCode::kResource,
        fmt::format("the disk of {} has no room for the sampled mini-batches of an epoch, and "
                    "[memory] host none to sample them beside training",
                    data.options.scratch),
        "free some of the disk, or raise [memory] host");
  }
  (void)sampler.release_workspaces();
}

// Of `room` that planning has if caches give back their rows' memory, what they keep: it may have
// left the machine, if that is a virtual one, before it is taken again soon after.
std::uint64_t Loader::State::kept_while_planning(std::uint64_t room,
                                                 const WindowLimits& of_windows,
                                                 std::uint64_t block) const {
  const std::uint64_t wanted = sampler.wish_for_keeping(block, of_windows);
  // No more than half, so that there is room for packing.
  return std::min(room / 2, room - std::min(room, wanted));
}

std::uint64_t Loader::State::forget_rows() {
  const TraceSpan span(options.trace, "forget rows");
  std::uint64_t held = 0;
  for (const auto& cache : data.caches) held += cache ? cache->held_bytes() : 0;
  std::uint64_t left = kept_while_planning(planning_room() + held, limits, batch_bytes);
  held = 0;
  for (const auto& cache : data.caches) {
    if (!cache) continue;
    const std::uint64_t row = std::max<std::uint64_t>(cache->row_bytes(), 1);
    cache->forget_rows(
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left / row, cache->slots())));
    held += cache->held_bytes();
    left -= std::min(left, cache->held_bytes());
  }
  return held;
}

const IdleMemory& Loader::State::beside_training() {
  if (idle) return *idle;
  idle.emplace();
  if (!sampler.all_kept()) return *idle;
  std::uint64_t rows = 0;
  for (const std::uint64_t of_type : limits.rows) rows += of_type;
  // The budget has room for a group's, however many there were.
  const std::uint64_t made = std::max<std::uint64_t>(sampler.workspaces(), 1);
  const std::uint64_t each = sampler.release_workspaces() / made;
  *idle = {each * sampler.group_size() + kLiveWindows * RowIndex::kBytesAnId * rows +
               data.spare_cache_bytes(),
           each};
  return *idle;
}

// Whether the epoch after may be prepared beside this one's training, as far as is known before.
// With edges on disk most of that is sampling, which training waits for either way: where others
// want the caches between, nothing is gained.
bool Loader::State::may_follow() const {
  if (where.others_between && sampler.paged()) return false;
  return where.next_follows && !memory.in_turns && !no_room_to_prepare &&
         planned(where.first_batch) && !data.approximates(options) && sampler.worth_keeping() &&
         queries->num_batches() >= kLeastBatches;
}

std::unique_ptr<NextEpoch> Loader::State::next_epoch(const Run& now, int threads) {
  NextEpoch::Setup setup;
  setup.where.epoch = where.epoch + 1;
  setup.limits = limits;
  setup.batch_bytes = batch_bytes;
  setup.caches = now.caches_go_on ? EpochPlan::Caches::kGoingOn : EpochPlan::Caches::kEmpty;
  return std::make_unique<NextEpoch>(data, options, threads, *queries, ledger, std::move(setup));
}

// Where edges are on disk, before this epoch's windows take their memory.
void Loader::State::sample_next(Run& now) {
  if (!may_follow() || !sampler.paged()) return;
  auto following = next_epoch(now, options.data_threads);
  NextEpoch& next = *following;
  {
    const MutexLock lock(now.plan_mutex);
    now.following = std::move(following);
  }
  (void)forget_rows();
  next.sample(planning_room());
}

void Loader::State::prepare_next(Run& now) {
  const bool kept = may_follow() && now.plan && now.windows->all_kept();
  const IdleMemory free = kept ? beside_training() : IdleMemory{};
  std::unique_ptr<NextEpoch> following;
  if (kept && !now.following) {
    const std::uint64_t sampling = free.workspace + NextEpoch::sampling_bytes(limits, batch_bytes);
    if (sampling <= free.bytes) {
      following = next_epoch(now, 1);
    } else {
      no_room(fmt::format("sampling it takes {} beside training, there are {}",
                          format_bytes(sampling),
                          format_bytes(free.bytes)));
    }
  }
  const MutexLock lock(now.plan_mutex);
  if (!kept) now.following.reset();
  if (following) now.following = std::move(following);
  if (!now.following) return;
  // Whole, for from here on others go through the caches.
  for (const auto& cache : data.caches) {
    if (cache) (void)cache->table();
  }
  // What others between do not take either: this loader's workspaces are its own.
  const std::uint64_t kept_bytes = where.others_between ? free.workspace * sampler.group_size()
                                                        : std::numeric_limits<std::uint64_t>::max();
  now.following->prepare_beside(*now.plan, free.bytes, kept_bytes);
}

// It is not tried again.
void Loader::State::no_room(std::string why) {
  no_room_to_prepare = true;
  not_prepared = std::move(why);
}

// What the epoch before prepared, if it is what is started now.
std::unique_ptr<NextEpoch> Loader::State::prepared_for(const LoaderStart& start) {
  std::unique_ptr<NextEpoch> next = std::move(aside);
  if (run && at_the_end() && run->following) next = std::move(run->following);
  if (!next) return nullptr;
  const LoaderStart& prepared = next->where();
  if (start.epoch != prepared.epoch || start.first_batch != prepared.first_batch) return nullptr;
  next->wait_until_apart();
  if (next->caches_are_there()) return next;
  // Others make them smaller once, and then they serve all; unless they are far apart.
  const bool again = std::exchange(caches_replaced, true);
  not_prepared = "another loader of the data needed caches of another size";
  no_room_to_prepare = no_room_to_prepare || again;
  busy_besides = next->stages();
  return nullptr;
}

// False where there was no room for it.
bool Loader::State::take_prepared(Run& now) {
  if (!now.prepared) return false;
  const bool there = now.prepared->wait();
  const MutexLock lock(now.plan_mutex);
  if (!there) {
    no_room(now.prepared->why_not());
    now.busy_besides = now.prepared->stages();
    now.not_prepared = std::exchange(not_prepared, {});
    now.prepared.reset();
    return false;
  }
  // Its rows go where those are that others brought meanwhile.
  if (now.prepared->completed()) data.clear_caches();
  now.plan = now.prepared->take_plan();
  now.windows = &now.prepared->windows();
  sampler.forget_kept();
  now.caches_go_on = now.prepared->caches_go_on() && !where.others_between;
  return true;
}

void Loader::State::begin_windows(Run& now) {
  now.windows = &sampler;
  const bool prepared = take_prepared(now);
  sample_next(now);
  if (!prepared) plan_epoch(now);
  now.planned = true;
  prepare_next(now);
}

void Loader::State::plan_epoch(Run& now) {
  idle.reset();
  if (!planned(where.first_batch)) return sampler.begin(where, limits);
  const GraphDataOptions& how = data.options;
  EpochPlanOptions planning;
  planning.folder = how.scratch;
  planning.plan = how.plan;
  // Once training goes on, it is training that sees to interruptions.
  planning.stopped = [&now] { return now.stopping || (!now.planned && interrupted()); };
  planning.trace = options.trace;
  const std::uint64_t kept = forget_rows();
  std::uint64_t room = planning_room();
  const std::uint64_t bytes = planning_bytes(room + kept);
  planning.buffer_bytes = bytes - std::min(bytes, kept);
  const PlanSplitSetup setup{
      queries->num_batches() - where.first_batch, batch_bytes, limits, slots(), room, kept};
  const PlanSplit split = memory.in_turns ? PlanSplit{} : split_plan(data, sampler, setup);
  planning.first_part = split.first_part;
  planning.beside_sampling = split.beside_sampling;
  planning.beside_training = [this] { return beside_training().bytes; };
  now.caches_go_on = may_follow() && !where.others_between && !sampler.paged();
  planning.followed = now.caches_go_on;
  room -= split.beside_sampling;
  if (sampler.worth_keeping() || memory.in_turns)
    sampler.keep_windows(how.scratch, room, batch_bytes);
  auto plan = EpochPlan::make(data, sampler, where, limits, *data.disk, planning, ledger);
  if (memory.in_turns) give_up_sampling();
  const MutexLock lock(now.plan_mutex);
  now.plan = std::move(plan);
}

}  // namespace sluice
