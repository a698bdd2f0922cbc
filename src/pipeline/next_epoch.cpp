#include "pipeline/next_epoch.h"

#include "core/interrupt.h"
#include "core/threads.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

LoaderOptions with_threads(LoaderOptions options, int threads) {
  options.data_threads = threads;
  return options;
}

}  // namespace

// Two groups of a mini-batch, the spool's two sides, and the rows of the window being made.
std::uint64_t NextEpoch::sampling_bytes(const WindowLimits& limits, std::uint64_t batch_bytes) {
  std::uint64_t bytes = 5 * batch_bytes;
  for (const std::uint64_t rows : limits.rows)
    bytes += rows * (RowIndex::kBytesAnId + sizeof(std::uint32_t));
  return bytes;
}

NextEpoch::NextEpoch(GraphData::State& data,
                     const LoaderOptions& options,
                     int threads,
                     const QuerySource& queries,
                     MemoryLedger& ledger,
                     Setup setup)
    : data_(data),
      setup_(std::move(setup)),
      caches_made_(data.caches_made),
      sampler_(data, with_threads(options, threads), queries, ledger),
      trace_(options.trace) {
  sampler_.share_tables(options.data_threads > 0 ? options.data_threads : available_cores());
  plan_ = EpochPlan::ahead(data, *data.disk, planning(), ledger);
}

EpochPlanOptions NextEpoch::planning() {
  EpochPlanOptions planning;
  planning.folder = data_.options.scratch;
  planning.plan = data_.options.plan;
  planning.stopped = [this] { return stopping_ || (awaited_ && interrupted()); };
  planning.trace = trace_;
  planning.beside_training = [this] {
    (void)sampler_.release_workspaces();
    if (sampler_.all_kept()) return bytes_;
    throw Error(ErrorCode::kResource, "the disk has no room for its mini-batches");
  };
  planning.followed = !sampler_.paged();
  return planning;
}

void NextEpoch::sample(std::uint64_t bytes) {
  sampled_ = true;
  awaited_ = true;
  try {
    sampler_.keep_windows(data_.options.scratch, bytes, setup_.batch_bytes);
    plan_->sample(sampler_, setup_.where, setup_.limits);
    (void)sampler_.release_workspaces();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    failure_ = std::current_exception();
  }
  awaited_ = false;
}

void NextEpoch::prepare_beside(EpochPlan& now, std::uint64_t bytes, std::uint64_t kept_bytes) {
  bytes_ = bytes;
  sum_bytes_ = kept_bytes - std::min(kept_bytes, BatchSpool::buffer_bytes(setup_.batch_bytes));
  const MutexLock lock(mutex_);
  done_ = failure_ != nullptr;
  if (!done_) thread_ = std::jthread([this, &now] { run(now); });
}

void NextEpoch::part_from_before() {
  const MutexLock lock(mutex_);
  apart_ = true;
  changed_.notify_all();
}

void NextEpoch::run(EpochPlan& now) {
  std::exception_ptr failure;
  try {
    give_way_to_others();
    if (trace_ != nullptr) trace_->name_thread("next epoch");
    plan_->follow(now, setup_.caches);
    part_from_before();
    if (!sampled_) {
      sampler_.keep_windows(data_.options.scratch, bytes_, setup_.batch_bytes);
      plan_->sample(sampler_, setup_.where, setup_.limits);
    }
    plan_->plan_beside(sum_bytes_);
  } catch (...) {
    failure = std::current_exception();
  }
  const MutexLock lock(mutex_);
  failure_ = failure;
  done_ = true;
  changed_.notify_all();
}

void NextEpoch::wait_until_apart() {
  MutexLock lock(mutex_);
  while (!apart_ && !done_) changed_.wait(lock);
}

bool NextEpoch::wait() {
  awaited_ = true;
  MutexLock lock(mutex_);
  while (!done_) changed_.wait(lock);
  if (!failure_) return true;
  try {
    std::rethrow_exception(failure_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    why_not_ = error.message();
  }
  return false;
}

void NextEpoch::complete() {
  awaited_ = true;
  MutexLock lock(mutex_);
  while (!done_) changed_.wait(lock);
  completed_ = true;
  plan_->stop();
}

std::vector<StageTimes> NextEpoch::stages() const {
  const MutexLock lock(mutex_);
  return plan_->stages();
}

void NextEpoch::stop() noexcept {
  stopping_ = true;
  const MutexLock once(stop_mutex_);
  if (thread_.joinable()) thread_.join();
  if (plan_) plan_->stop();
}

}  // namespace sluice
