#include "pipeline/plan/next_epoch.h"

#include "core/interrupt.h"
#include "core/threads.h"
#include "pipeline/stream/window_keeper.h"

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
  return 5 * batch_bytes + numbering_bytes(limits);
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
      sampler_({data, with_threads(options, threads), queries, ledger}),
      clocks_(options.trace),
      setting_{data, ledger, clocks_, [this] { return stopping_ || (awaited_ && interrupted()); }} {
  sampler_.expect_workspace(setup_.workspace_bytes);
  sampler_.share_tables(options.data_threads > 0 ? options.data_threads : available_cores());
}

void NextEpoch::sample(std::uint64_t bytes) {
  awaited_ = true;
  try {
    sample_now(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    failure_ = std::current_exception();
  }
  awaited_ = false;
}

void NextEpoch::sample_now(std::uint64_t bytes) {
  WindowKeeper windows(sampler_, setup_.where, setup_.limits, bytes, setup_.batch_bytes);
  sampled_ = sample_epoch(setting_, windows);
  windows_ = windows.take_kept();
  (void)sampler_.release_workspaces();
}

void NextEpoch::prepare_beside(PlannedEpoch& now, std::uint64_t bytes, std::uint64_t kept_bytes) {
  if (failure_) return;
  PlanRequest request;
  request.bytes = bytes;
  request.kept_bytes =
      kept_bytes - std::min(kept_bytes, BatchSpool::buffer_bytes(setup_.batch_bytes));
  request.kept_before = now.kept_bytes();
  request.followed = !sampler_.paged();
  request.slots = setup_.caches_go_on ? PlanSlots::kGoingOn : PlanSlots::kInUse;
  Directories directories = now.take_directories();
  if (!setup_.caches_go_on) {
    directories.give_back();
    directories = Directories(data_);
  }
  if (directories.empty())
    throw Error(ErrorCode::kInternal, "an epoch goes on with caches that others have");
  planning_ = std::async(
      std::launch::async,
      [this](PlanRequest asked, Directories held) {
        return plan(std::move(asked), std::move(held));
      },
      std::move(request),
      std::move(directories));
}

PlannedEpoch NextEpoch::plan(PlanRequest request, Directories directories) {
  give_way_to_others();
  if (setting_.trace() != nullptr) setting_.trace()->name_thread("next epoch");
  if (!sampled_) sample_now(request.bytes);
  if (!windows_->all_kept())
    throw Error(ErrorCode::kResource, "the disk has no room for its mini-batches");
  request.sampled = *std::move(sampled_);
  return plan_epoch(setting_, std::move(request), std::move(directories));
}

void NextEpoch::settle() noexcept {
  if (!planning_.valid()) return;
  try {
    plan_ = planning_.get();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

std::string NextEpoch::wait() {
  awaited_ = true;
  settle();
  if (!failure_) return {};
  try {
    std::rethrow_exception(failure_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return error.message();
  }
}

void NextEpoch::complete() {
  awaited_ = true;
  settle();
  completed_ = true;
  if (plan_) plan_->take_directories().give_back();
}

void NextEpoch::stop() noexcept {
  stopping_ = true;
  settle();
  if (plan_) plan_->take_directories().give_back();
}

}  // namespace sluice
