#include "core/hash.h"
#include "pipeline/loader_state.h"

#include <sluice/mutex.h>

#include <utility>

namespace sluice {

// For the thread that samples, or that brings mini-batches which were.
void Loader::State::count_sampling(Run& now) const {
  now.topology.set(topology_stats() - topology_before);
  now.snapshot.set(snapshot_stats() - snapshot_before);
  now.spool_read = now.windows->spool_bytes_read();
  now.spool_written = now.windows->spool_bytes_written();
}

void Loader::State::sample_loop(Run& now) {
  try {
    if (options.trace != nullptr) options.trace->name_thread("sample");
    begin_windows(now);
    WindowSampler& windows = *now.windows;
    count_sampling(now);
    for (;;) {
      WindowPtr window;
      {
        Busy busy(now.sampling);
        window = windows.sample();
        busy.note("epoch", static_cast<double>(where.epoch));
        busy.note("batches", window ? static_cast<double>(window->batches.size()) : 0);
      }
      if (!windows.brings()) count_sampling(now);
      if (!window || !now.sampled.hand_over(std::move(window))) break;
    }
    now.sampled.finish();
  } catch (...) {
    now.sampled.finish(std::current_exception());
  }
}

void Loader::State::fetch(Run& now, Window& window, const Window* ahead) {
  Busy busy(now.fetching);
  busy.note("epoch", static_cast<double>(where.epoch));
  busy.note("window", static_cast<double>(window.number));
  const auto stop_planning = [&now] {
    if (now.following) now.following->stop();
    if (now.plan) now.plan->take_directories().give_back();
  };
  fetcher.fetch(window, {now.plan ? &*now.plan : nullptr, ahead, stop_planning}, [&] {
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
      // Without a plan the window after tells which rows are worth keeping.
      std::optional<WindowPtr> ahead;
      if (!memory.in_turns) ahead = now.sampled.pop();
      fetch(now, **window, ahead ? ahead->get() : nullptr);
      ++progress.windows;
      progress.counts = fetcher.counts() - counts_before;
      progress.disk = disk_stats() - disk_before;
      if (now.plan) {
        const PlanTraffic planned = now.plan->traffic();
        progress.disk.bytes_read += planned.bytes_read;
        progress.disk.requests += planned.latency.requests();
        progress.disk.latency += planned.latency;
        progress.bytes_written = planned.bytes_written;
      }
      now.fetch_progress.set(progress);
      now.in_use.add();
      if (!now.fetched.hand_over(std::move(*window))) break;
      window = memory.in_turns ? now.sampled.pop() : std::move(ahead);
    }
    now.fetched.finish();
  } catch (const Stopped&) {
    now.fetched.finish();
  } catch (...) {
    now.fetched.finish(std::current_exception());
  }
}

// False once the run is stopped.
bool Loader::State::deliver(Run& now, Ready item) const {
  if (feed) return now.ready.push(std::move(item), 0);  // its ring is what bounds it
  const std::uint64_t bytes = item.bytes;
  return memory.queue_bytes == 0 ? now.ready.hand_over(std::move(item))
                                 : now.ready.push(std::move(item), bytes);
}

// Nothing once the run is stopped.
std::optional<Ready> Loader::State::make_ready(Run& now, Window& window, std::size_t index) {
  Busy busy(now.assembling);
  busy.note("epoch", static_cast<double>(where.epoch));
  busy.note("batch", static_cast<double>(window.batches[index].index));
  if (now.windows->brings()) {
    now.windows->bring(window, index);
    count_sampling(now);
  }
  Batch& sampled = window.batches[index];
  const std::uint64_t bytes = assembler.assembled_bytes(sampled);
  std::optional<Ready> ready;
  if (feed) {
    ready = feed->send(std::move(sampled), window, index, busy);
  } else {
    ready.emplace();
    auto batch = std::make_shared<Batch>(std::move(sampled));
    assembler.assemble(*batch, window, index);
    if (options.hash) ready->hash = hash_batch(*batch);
    ready->batch = std::move(batch);
  }
  for (const auto& rows : window.rows) {
    if (rows) rows->numbers[index] = {};
  }
  if (!ready) return std::nullopt;
  ready->bytes = bytes;
  now.bytes_useful += bytes;
  return ready;
}

// Where memory is used in turns, until the consumer asks, so that it has let go of what it had.
// False once the run is stopped.
bool Loader::State::wait_for_turn(Run& now) const {
  if (!memory.in_turns) return true;
  const auto begin = StageClock::Clock::now();
  const bool asked = now.demand.wait();
  now.assembling.count_blocked(begin, StageClock::Clock::now());
  return asked;
}

void Loader::State::assemble_loop(Run& now) {
  try {
    if (options.trace != nullptr) options.trace->name_thread("assemble");
    for (;;) {
      if (!wait_for_turn(now)) return now.ready.finish();
      auto window = now.fetched.pop();
      if (!window) break;
      const std::size_t count = (*window)->batches.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && !wait_for_turn(now)) return now.ready.finish();
        std::optional<Ready> item = make_ready(now, **window, i);
        if (!item) return now.ready.finish();
        if (i + 1 == count) {
          if (feed) feed->finish_window();
          window->reset();
          now.in_use.remove();
        }
        if (!deliver(now, *std::move(item))) return now.ready.finish();
      }
    }
    now.ready.finish();
  } catch (...) {
    now.ready.finish(std::current_exception());
  }
}

void Loader::State::halt() {
  if (data.active == this) data.active = nullptr;
  aside.reset();
  if (!run) return;
  run->stopping = true;
  if (run->prepared) run->prepared->ask_to_stop();
  {
    const MutexLock lock(run->plan_mutex);
    if (run->following) run->following->ask_to_stop();
  }
  run->sampled.cancel();
  run->fetched.cancel();
  run->ready.cancel();
  run->in_use.cancel();
  run->demand.cancel();
  if (feed) feed->ring().close();
  for (std::jthread& thread : run->threads) {
    if (thread.joinable()) thread.join();
  }
  run->following.reset();
  if (run->plan) run->plan->take_directories().give_back();
  if (run->prepared) run->prepared->stop();
  sampler.halt();
  if (!feed) return;
  feed->finish_window();  // a stopped run leaves one in the middle
  feed->ring().open();
}

}  // namespace sluice
