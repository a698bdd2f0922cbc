#include "core/hash.h"
#include "core/interrupt.h"
#include "pipeline/loader_state.h"
#include "pipeline/plan_part.h"

#include <algorithm>
#include <utility>

namespace sluice {

// Whether the epoch is sampled ahead, from a batch on: where that is of use, for the rows' next
// uses or for repacking.
bool Loader::State::planned(std::uint64_t first_batch) const {
  const GraphDataOptions& how = data.options;
  const bool useful = how.cache == "belady" || how.plan == PlanChoice::kRepack;
  bool disk = false;
  for (std::size_t type = 0; type < data.features.size(); ++type) disk = disk || data.on_disk(type);
  return useful && disk && !how.scratch.empty() && first_batch + 1 < order->num_batches();
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

// Memory that training leaves alone while its windows were all kept: of their row numbers' indexes,
// and of sampling.
std::uint64_t Loader::State::beside_training() {
  if (!sampler.all_kept()) return 0;
  std::uint64_t rows = 0;
  for (const std::uint64_t of_type : limits.rows) rows += of_type;
  return sampler.release_workspaces() + kLiveWindows * RowIndex::kBytesAnId * rows;
}

void Loader::State::plan_epoch(Run& now) {
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
  const PlanSplit split = split_plan(
      data,
      sampler,
      {order->num_batches() - where.first_batch, batch_bytes, limits, slots(), room, kept});
  planning.first_part = split.first_part;
  planning.beside_sampling = split.beside_sampling;
  planning.beside_training = [this] { return beside_training(); };
  room -= split.beside_sampling;
  if (sampler.worth_keeping()) sampler.keep_windows(how.scratch, room, batch_bytes);
  auto plan = EpochPlan::make(data, sampler, where, limits, *data.device, planning, ledger);
  now.planned = true;
  const std::scoped_lock lock(now.plan_mutex);
  now.plan = std::move(plan);
}

void Loader::State::sample_loop(Run& now) {
  try {
    if (options.trace != nullptr) options.trace->name_thread("sample");
    plan_epoch(now);
    for (;;) {
      WindowPtr window;
      {
        Busy busy(now.sampling);
        window = sampler.sample();
        busy.note("epoch", static_cast<double>(where.epoch));
        busy.note("batches", window ? static_cast<double>(window->batches.size()) : 0);
      }
      now.topology.set(topology_stats() - topology_before);
      now.snapshot.set(snapshot_stats() - snapshot_before);
      now.spool_read = sampler.spool_bytes_read();
      now.spool_written = sampler.spool_bytes_written();
      if (!window || !now.sampled.hand_over(std::move(window))) break;
    }
    now.sampled.finish();
  } catch (...) {
    now.sampled.finish(std::current_exception());
  }
}

void Loader::State::fetch(Run& now, Window& window, const Window* ahead) {
  if (now.plan) {
    const auto begin = StageClock::Clock::now();
    now.plan->wait_for(window.number);
    now.fetching.count_starved(begin, StageClock::Clock::now());
  }
  Busy busy(now.fetching);
  busy.note("epoch", static_cast<double>(where.epoch));
  busy.note("window", static_cast<double>(window.number));
  fetcher.fetch(window, {now.plan.get(), ahead}, [&] {
    const Busy::Pause waiting(busy);
    now.in_use.wait_for_none();
    now.fetching.count_blocked(waiting.begin(), StageClock::Clock::now());
  });
}

void Loader::State::fetch_loop(Run& now) {
  try {
    if (options.trace != nullptr) options.trace->name_thread("fetch");
    FetchProgress progress;
    auto window = now.sampled.pop();
    while (window) {
      // The window after tells which rows are worth keeping.
      auto ahead = now.sampled.pop();
      fetch(now, **window, ahead ? ahead->get() : nullptr);
      ++progress.windows;
      progress.counts = fetcher.counts() - counts_before;
      progress.device = device_stats() - device_before;
      if (now.plan) {
        const EpochPlan::Traffic planned = now.plan->traffic();
        progress.device.bytes_read += planned.bytes_read;
        progress.device.requests += planned.latency.requests();
        progress.device.latency += planned.latency;
        progress.bytes_written = planned.bytes_written;
      }
      now.fetch_progress.set(progress);
      now.in_use.add();
      if (!now.fetched.hand_over(std::move(*window))) break;
      window = std::move(ahead);
    }
    now.fetched.finish();
  } catch (const Stopped&) {
    now.fetched.finish();
  } catch (...) {
    now.fetched.finish(std::current_exception());
  }
}

// False once the run is stopped.
bool Loader::State::deliver(Run& now, Ready item, std::uint64_t bytes) const {
  if (feed) return now.ready.push(std::move(item), 0);  // its ring is what bounds it
  return memory.queue_bytes == 0 ? now.ready.hand_over(std::move(item))
                                 : now.ready.push(std::move(item), bytes);
}

// Nothing once the run is stopped.
std::optional<Ready> Loader::State::make_ready(Run& now,
                                               const Window& window,
                                               std::size_t index,
                                               Batch sampled) {
  if (feed) return feed->send(std::move(sampled), window, index, now.assembling);
  Busy busy(now.assembling);
  busy.note("epoch", static_cast<double>(where.epoch));
  busy.note("batch", static_cast<double>(sampled.index));
  auto batch = std::make_shared<Batch>(std::move(sampled));
  assembler.assemble(*batch, window, index);
  Ready ready;
  if (options.hash) ready.hash = hash_batch(*batch);
  ready.batch = std::move(batch);
  return ready;
}

void Loader::State::assemble_loop(Run& now) {
  try {
    if (options.trace != nullptr) options.trace->name_thread("assemble");
    while (auto window = now.fetched.pop()) {
      for (std::size_t i = 0; i < (*window)->batches.size(); ++i) {
        Batch& sampled = (*window)->batches[i];
        const std::uint64_t bytes = assembler.assembled_bytes(sampled);
        std::optional<Ready> item = make_ready(now, **window, i, std::move(sampled));
        if (!item) return now.ready.finish();
        now.bytes_useful += bytes;
        if (i + 1 == (*window)->batches.size()) {
          if (feed) feed->finish_window();
          window->reset();
          now.in_use.remove();
          if (!deliver(now, *std::move(item), bytes)) return now.ready.finish();
          break;
        }
        if (!deliver(now, *std::move(item), bytes)) return now.ready.finish();
      }
    }
    now.ready.finish();
  } catch (...) {
    now.ready.finish(std::current_exception());
  }
}

void Loader::State::halt() {
  if (!run) return;
  run->stopping = true;
  run->sampled.cancel();
  run->fetched.cancel();
  run->ready.cancel();
  run->in_use.cancel();
  if (feed) feed->ring().close();
  for (std::jthread& thread : run->threads) {
    if (thread.joinable()) thread.join();
  }
  if (run->plan) run->plan->stop();
  sampler.halt();
  if (!feed) return;
  feed->finish_window();  // a stopped run leaves one in the middle
  feed->ring().open();
}

}  // namespace sluice
