#include "pipeline/plan/epoch_planner.h"

#include "core/interrupt.h"
#include "pipeline/stream/window_keeper.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastBatches = 16;  // of an epoch that is worth a thread beside training

Error no_room_to_keep(const std::string& scratch) {
  return {ErrorCode::kResource,
          fmt::format("the disk of {} has no room for the sampled mini-batches of an epoch, and "
                      "[memory] host none to sample them beside training",
                      scratch),
          "free some of the disk, or raise [memory] host"};
}

}  // namespace

bool may_plan(const GraphData::State& data) {
  const GraphDataOptions& how = data.options;
  const bool useful = how.cache->wants_next_uses() || how.plan == PlanChoice::kRepack;
  return useful && data.rows_on_disk() && !how.scratch.empty();
}

bool is_planned(const GraphData::State& data, const Phases& phases, std::uint64_t batches) {
  return may_plan(data) && batches >= phases.least_planned();
}

void add_times(std::vector<StageTimes>& to, const std::vector<StageTimes>& more, double sign) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    to[i].busy += sign * more[i].busy;
    to[i].starved += sign * more[i].starved;
    to[i].blocked += sign * more[i].blocked;
  }
}

EpochPlanner::EpochPlanner(GraphData::State& data,
                           const LoaderOptions& options,
                           const LoaderMemory& share,
                           MemoryLedger& ledger,
                           const QuerySource& queries,
                           BatchSampler& sampler,
                           PlanningMemory& memory)
    : data_(data),
      options_(options),
      share_(share),
      ledger_(ledger),
      queries_(queries),
      sampler_(sampler),
      memory_(memory) {}

std::unique_ptr<NextEpoch> EpochPlanner::claim(const LoaderStart& start, bool over) {
  std::unique_ptr<NextEpoch> next = std::move(aside_);
  {
    const MutexLock lock(mutex_);
    if (over && following_) next = std::move(following_);
  }
  if (!next) return nullptr;
  const LoaderStart& prepared = next->where();
  if (start.epoch != prepared.epoch || start.first_batch != prepared.first_batch) return nullptr;
  if (next->caches_are_there()) return next;
  // Others make them smaller once, and then they serve all; unless they are far apart.
  const bool again = std::exchange(caches_replaced_, true);
  not_prepared_ = "another loader of the data needed caches of another size";
  no_room_to_prepare_ = no_room_to_prepare_ || again;
  vain_ = next->stages();
  return nullptr;
}

void EpochPlanner::begin(const LoaderStart& where, std::unique_ptr<NextEpoch> prepared) {
  const MutexLock lock(mutex_);
  where_ = where;
  caches_go_on_ = false;
  following_.reset();
  stream_.reset();
  prepared_ = std::move(prepared);
  clocks_ = std::make_unique<PlanClocks>(options_.trace);
  why_not_ = std::exchange(not_prepared_, {});
  besides_ = std::exchange(vain_, {});
  before_ = std::exchange(told_, {});
  if (!prepared_ && besides_.empty()) before_.clear();
  if (besides_.empty()) besides_ = std::exchange(data_.busy_making_way, {});
}

void EpochPlanner::size_windows(WindowLimits limits, std::uint64_t batch_bytes) {
  limits_ = std::move(limits);
  batch_bytes_ = batch_bytes;
}

WindowStream& EpochPlanner::open(const std::function<bool()>& stopped) {
  const bool prepared = take_prepared();
  // Where edges are on disk, the next one is sampled before this one's windows take their memory.
  if (may_follow() && sampler_.paged()) {
    NextEpoch* next = nullptr;
    {
      const MutexLock lock(mutex_);
      following_ = next_epoch(options_.data_threads);
      next = following_.get();
    }
    (void)memory_.forget_rows(limits_, batch_bytes_);
    next->sample(memory_.room());
  }
  if (!prepared) plan_now(stopped);
  prepare_next();
  const MutexLock lock(mutex_);
  return *stream_;
}

// False where there was no room for it.
bool EpochPlanner::take_prepared() {
  NextEpoch* prepared = nullptr;
  {
    const MutexLock lock(mutex_);
    prepared = prepared_.get();
  }
  if (prepared == nullptr) return false;
  std::string why_not = prepared->wait();
  const MutexLock lock(mutex_);
  if (!why_not.empty()) {
    no_room_to_prepare_ = true;  // it is not tried again
    why_not_ = std::move(why_not);
    besides_ = prepared->stages();
    prepared_.reset();
    return false;
  }
  // Its rows go where those are that others brought meanwhile.
  if (prepared->completed()) data_.clear_caches();
  caches_go_on_ = !sampler_.paged() && !prepared->completed() && !where_.others_between;
  stream_ = std::make_unique<WindowStream>(
      prepared->take_windows(), prepared->take_plan(), std::move(prepared_));
  stream_->plan()->begin(data_);
  return true;
}

// Samples the epoch for its rows. What is kept of its mini-batches on the way; null: nothing is.
std::unique_ptr<KeptWindows> EpochPlanner::sample_now(const PlanSetting& setting,
                                                      const Phases& phases,
                                                      std::uint64_t room,
                                                      SampledEpoch& sampled) {
  if (sampler_.worth_keeping() || phases.all_kept()) {
    WindowKeeper windows(sampler_, where_, limits_, room, batch_bytes_);
    sampled = sample_epoch(setting, windows);
    return windows.take_kept();
  }
  WindowSampler windows(sampler_, where_, limits_);
  sampled = sample_epoch(setting, windows);
  return nullptr;
}

void EpochPlanner::plan_now(const std::function<bool()>& stopped) {
  memory_.begin();
  const Phases phases(share_);
  if (!is_planned(data_, phases, queries_.num_batches() - where_.first_batch)) {
    const MutexLock lock(mutex_);
    stream_ =
        std::make_unique<WindowStream>(std::make_unique<WindowSampler>(sampler_, where_, limits_));
    return;
  }
  PlanClocks* clocks = nullptr;
  {
    const MutexLock lock(mutex_);
    clocks = clocks_.get();
  }
  const PlanSetting setting{
      data_, ledger_, *clocks, [&stopped] { return stopped() || interrupted(); }};
  const std::uint64_t cached = memory_.forget_rows(limits_, batch_bytes_);
  const std::uint64_t room = memory_.room();
  const std::uint64_t share = memory_.share_of(room + cached);
  PlanRequest request;
  std::unique_ptr<KeptWindows> kept = sample_now(setting, phases, room, request.sampled);
  request.bytes = share - std::min(share, cached);
  caches_go_on_ = may_follow() && !where_.others_between && !sampler_.paged();
  request.followed = caches_go_on_;
  PlannedEpoch plan = plan_epoch(setting, std::move(request), Directories(data_));
  if (phases.all_kept() && !kept->all_kept()) throw no_room_to_keep(data_.options.scratch);
  if (phases.all_kept()) (void)sampler_.release_workspaces();
  plan.begin(data_);
  const MutexLock lock(mutex_);
  if (kept) {
    stream_ = std::make_unique<WindowStream>(std::move(kept), std::move(plan));
  } else {
    stream_ = std::make_unique<WindowStream>(
        std::make_unique<WindowSampler>(sampler_, where_, limits_), std::move(plan));
  }
}

// Whether the epoch after may be prepared beside this one's training, as far as is known before.
// With edges on disk most of that is sampling, which training waits for either way: where others
// want the caches between, nothing is gained.
bool EpochPlanner::may_follow() const {
  if (where_.others_between && sampler_.paged()) return false;
  const Phases phases(share_);
  return where_.next_follows && phases.prepares_next() && !no_room_to_prepare_ &&
         is_planned(data_, phases, queries_.num_batches() - where_.first_batch) &&
         !data_.approximates(options_) && sampler_.worth_keeping() &&
         queries_.num_batches() >= kLeastBatches;
}

std::unique_ptr<NextEpoch> EpochPlanner::next_epoch(int threads) const {
  NextEpoch::Setup setup;
  setup.where.epoch = where_.epoch + 1;
  setup.limits = limits_;
  setup.batch_bytes = batch_bytes_;
  setup.workspace_bytes = sampler_.bytes_a_workspace();
  setup.caches_go_on = caches_go_on_;
  return std::make_unique<NextEpoch>(data_, options_, threads, queries_, ledger_, std::move(setup));
}

void EpochPlanner::prepare_next() {
  const MutexLock lock(mutex_);
  if (!may_follow() || stream_->kept() == nullptr || !stream_->kept()->all_kept())
    return following_.reset();
  const IdleMemory free = memory_.beside_training(limits_);
  if (!following_) {
    const std::uint64_t sampling =
        free.workspace + NextEpoch::sampling_bytes(limits_, batch_bytes_);
    if (sampling > free.bytes) {
      no_room_to_prepare_ = true;  // it is not tried again
      not_prepared_ = fmt::format("sampling it takes {} beside training, there are {}",
                                  format_bytes(sampling),
                                  format_bytes(free.bytes));
      return;
    }
    following_ = next_epoch(1);
  }
  // Whole, for from here on others go through the caches.
  for (const auto& cache : data_.caches) {
    if (cache) (void)cache->table.all();
  }
  // What others between do not take either: this loader's workspaces are its own.
  const std::uint64_t kept_bytes = where_.others_between
                                       ? free.workspace * sampler_.group_size()
                                       : std::numeric_limits<std::uint64_t>::max();
  following_->prepare_beside(*stream_->plan(), free.bytes, kept_bytes);
}

void EpochPlanner::stop_planning() {
  const MutexLock lock(mutex_);
  if (following_) following_->stop();
  if (stream_ && stream_->plan() != nullptr) stream_->plan()->take_directories().give_back();
}

void EpochPlanner::ask_to_stop() {
  const MutexLock lock(mutex_);
  if (prepared_) prepared_->ask_to_stop();
  if (following_) following_->ask_to_stop();
}

void EpochPlanner::end() {
  aside_.reset();
  stop_planning();
  const MutexLock lock(mutex_);
  following_.reset();
  if (prepared_) prepared_->stop();
}

std::unique_ptr<NextEpoch> EpochPlanner::complete_next() {
  const MutexLock lock(mutex_);
  if (!where_.others_between || !following_) return nullptr;
  following_->complete();
  data_.busy_making_way = following_->stages();
  add_times(data_.busy_making_way, std::exchange(told_, following_->stages()), -1);
  return std::move(following_);
}

void EpochPlanner::set_aside(std::unique_ptr<NextEpoch> next) {
  if (!next && !Phases(share_).all_kept()) return;
  const MutexLock lock(mutex_);
  if (stream_) stream_->forget();
  aside_ = std::move(next);
}

void EpochPlanner::add_to(LoaderStats& stats) const {
  const MutexLock lock(mutex_);
  std::vector<StageTimes> times = clocks_->times();
  if (prepared_) add_times(times, prepared_->stages(), 1);
  if (stream_ && stream_->prepared() != nullptr) add_times(times, stream_->prepared()->stages(), 1);
  add_times(times, besides_, 1);
  add_times(times, before_, -1);
  if (following_) {
    told_ = following_->stages();
    add_times(times, told_, 1);
  }
  for (StageTimes& stage : times) stats.stages.push_back(std::move(stage));
  if (stream_ && stream_->plan() != nullptr) stats.plans = stream_->plan()->reasons();
  if (!why_not_.empty()) stats.plans.push_back("not prepared beside the epoch before: " + why_not_);
}

}  // namespace sluice
