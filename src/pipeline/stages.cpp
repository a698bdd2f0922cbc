#include "pipeline/stages.h"

#include "samplers/paged_events.h"

#include <exception>
#include <optional>
#include <utility>

namespace sluice {

FeatureStats DataCounts::disk_of(const GraphData::State& data) {
  FeatureStats sum;
  for (const FeatureTable& table : data.tables) sum += table.store->stats();
  return sum;
}

TopologyStats DataCounts::topology_of(const GraphData::State& data) {
  TopologyStats sum;
  for (const auto& topology : data.graph.relations) sum += topology->stats();
  for (const auto& events : data.graph.paged_events) {
    if (const auto* const paged = dynamic_cast<const PagedEvents*>(events.get()); paged != nullptr)
      sum.bytes_read += paged->bytes_read();
  }
  return sum;
}

SnapshotStats DataCounts::snapshot_of(const GraphData::State& data) {
  return data.snapshots ? data.snapshots->stats() : SnapshotStats{};
}

Stages::Stages(const Setting& setting) : set_(setting) {
  threads_ = {std::jthread([this] { sample_loop(); }),
              std::jthread([this] { fetch_loop(); }),
              std::jthread([this] { assemble_loop(); })};
}

void Stages::ask() {
  if (phases_.waits_for_consumer() && !asked_) demand_.ask();
  asked_ = true;
}

bool Stages::wait(std::chrono::milliseconds most) {
  ask();
  return ready_.wait_for(most);
}

std::optional<Ready> Stages::next() {
  ask();
  asked_ = false;
  std::optional<Ready> item = ready_.pop();
  if (set_.feed != nullptr) {
    if (!item) set_.feed->ring().check();
    if (item && item->lease) set_.feed->ring().deliver(*item->lease);
  }
  return item;
}

void Stages::stop() {
  if (stopping_.exchange(true)) return;  // once: the ring may be another loader's by now
  set_.planner.ask_to_stop();
  sampled_.cancel();
  fetched_.cancel();
  ready_.cancel();
  in_use_.cancel();
  demand_.cancel();
  if (set_.feed != nullptr) set_.feed->ring().close();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

// For the thread that samples, or that brings mini-batches which were.
void Stages::count_sampling() {
  topology_.set(DataCounts::topology_of(set_.data) - set_.before.topology);
  snapshot_.set(DataCounts::snapshot_of(set_.data) - set_.before.snapshot);
  if (const KeptWindows* const kept = stream_->kept()) {
    spool_read_ = kept->bytes_read();
    spool_written_ = kept->bytes_written();
  }
}

void Stages::sample_loop() {
  try {
    if (set_.options.trace != nullptr) set_.options.trace->name_thread("sample");
    stream_ = &set_.planner.open([this] { return stopping_.load(); });
    count_sampling();
    for (;;) {
      WindowPtr window;
      {
        Busy busy(sampling_);
        window = stream_->next();
        busy.note("epoch", static_cast<double>(set_.epoch));
        busy.note("batches", window ? static_cast<double>(window->batches.size()) : 0);
      }
      if (stream_->kept() == nullptr) count_sampling();
      if (!window || !sampled_.hand_over(std::move(window))) break;
    }
    sampled_.finish();
  } catch (...) {
    sampled_.finish(std::current_exception());
  }
}

void Stages::fetch(Window& window, const Window* ahead) {
  Busy busy(fetching_);
  busy.note("epoch", static_cast<double>(set_.epoch));
  busy.note("window", static_cast<double>(window.number));
  set_.fetcher.fetch(
      window, {stream_->plan(), ahead, [this] { set_.planner.stop_planning(); }}, [&] {
        const Busy::Pause waiting(busy);
        in_use_.wait_for_none();
        fetching_.count_blocked(waiting.begin(), StageClock::Clock::now());
      });
}

void Stages::count_fetching(FetchProgress& progress) {
  ++progress.windows;
  progress.counts = set_.fetcher.counts() - set_.before.fetched;
  progress.disk = DataCounts::disk_of(set_.data) - set_.before.disk;
  if (const PlannedEpoch* const plan = stream_->plan()) {
    const PlanTraffic planned = plan->traffic();
    progress.disk.bytes_read += planned.bytes_read;
    progress.disk.requests += planned.latency.requests();
    progress.disk.latency += planned.latency;
    progress.bytes_written = planned.bytes_written;
  }
  progress_.set(progress);
}

void Stages::fetch_loop() {
  try {
    if (set_.options.trace != nullptr) set_.options.trace->name_thread("fetch");
    FetchProgress progress;
    auto window = sampled_.pop();
    while (window) {
      // Without a plan the window after tells which rows are worth keeping. Where it cannot be made
      // this one goes on before that is told.
      std::optional<WindowPtr> ahead;
      std::exception_ptr failure;
      try {
        if (phases_.looks_ahead()) ahead = sampled_.pop();
      } catch (...) {
        failure = std::current_exception();
      }
      fetch(**window, ahead ? ahead->get() : nullptr);
      count_fetching(progress);
      in_use_.add();
      if (!fetched_.hand_over(std::move(*window))) break;
      if (failure) std::rethrow_exception(failure);
      window = phases_.looks_ahead() ? std::move(ahead) : sampled_.pop();
    }
    fetched_.finish();
  } catch (const Stopped&) {
    fetched_.finish();
  } catch (...) {
    fetched_.finish(std::current_exception());
  }
}

// False once stopped.
bool Stages::deliver(Ready item) {
  if (set_.feed != nullptr) return ready_.push(std::move(item), 0);  // its ring is what bounds it
  const std::uint64_t bytes = item.bytes;
  return set_.memory.queue_bytes == 0 ? ready_.hand_over(std::move(item))
                                      : ready_.push(std::move(item), bytes);
}

// Nothing once stopped.
std::optional<Ready> Stages::make_ready(Window& window, std::size_t index) {
  Busy busy(assembling_);
  busy.note("epoch", static_cast<double>(set_.epoch));
  busy.note("batch", static_cast<double>(window.batches[index].index));
  if (KeptWindows* const kept = stream_->kept()) {
    kept->bring(window, index);
    count_sampling();
  }
  Batch& sampled = window.batches[index];
  const std::uint64_t bytes = set_.assembler.assembled_bytes(sampled);
  const std::uint64_t useful = set_.assembler.feature_bytes(sampled);
  std::optional<Ready> ready;
  if (set_.feed != nullptr) {
    ready = set_.feed->send(std::move(sampled), window, index, busy);
  } else {
    ready.emplace();
    auto batch = std::make_shared<Batch>(std::move(sampled));
    set_.assembler.assemble(*batch, window, index);
    if (set_.options.hash) ready->hash = hash_batch(*batch);
    ready->batch = std::move(batch);
  }
  for (const auto& rows : window.rows) {
    if (rows) rows->numbers[index] = {};
  }
  if (!ready) return std::nullopt;
  ready->bytes = bytes;
  bytes_useful_ += useful;
  return ready;
}

// Until the consumer asks, where it is waited for, so that it has let go of what it had. False once
// stopped.
bool Stages::wait_for_turn() {
  if (!phases_.waits_for_consumer()) return true;
  const auto begin = StageClock::Clock::now();
  const bool asked = demand_.wait();
  assembling_.count_blocked(begin, StageClock::Clock::now());
  return asked;
}

void Stages::assemble_loop() {
  try {
    if (set_.options.trace != nullptr) set_.options.trace->name_thread("assemble");
    for (;;) {
      if (!wait_for_turn()) return ready_.finish();
      auto window = fetched_.pop();
      if (!window) break;
      const std::size_t count = (*window)->batches.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && !wait_for_turn()) return ready_.finish();
        std::optional<Ready> item = make_ready(**window, i);
        if (!item) return ready_.finish();
        if (i + 1 == count) {
          if (set_.feed != nullptr) set_.feed->finish_window();
          window->reset();
          in_use_.remove();
        }
        if (!deliver(*std::move(item))) return ready_.finish();
      }
    }
    ready_.finish();
  } catch (...) {
    ready_.finish(std::current_exception());
  }
}

void Stages::add_to(LoaderStats& stats) const {
  const FetchProgress fetched = progress_.get();
  const TopologyStats topology = topology_.get();
  stats.bytes_read = fetched.disk.bytes_read + topology.bytes_read + spool_read_;
  stats.requests = fetched.disk.requests + topology.requests;
  stats.latency = fetched.disk.latency;
  stats.latency += topology.latency;
  stats.bytes_written = fetched.bytes_written + spool_written_;
  stats.bytes_useful = bytes_useful_;
  if (set_.feed != nullptr) {
    stats.bytes_to_device = set_.feed->bytes();
    stats.batches_gathered = set_.feed->gathered();
  }
  stats.windows = fetched.windows;
  stats.windows_swept = fetched.counts.windows_swept;
  stats.windows_packed = fetched.counts.windows_packed;
  stats.cache = fetched.counts.cache;
  stats.snapshot = snapshot_.get();
  StageTimes sample = sampling_.times();
  sample.blocked += sampled_.blocked();
  StageTimes fetch = fetching_.times();
  fetch.starved += sampled_.starved();
  fetch.blocked += fetched_.blocked();
  StageTimes assemble = assembling_.times();
  assemble.starved += fetched_.starved();
  assemble.blocked += ready_.blocked() + (set_.feed != nullptr ? set_.feed->blocked() : 0);
  stats.stages = {std::move(sample)};
  set_.planner.add_to(stats);
  stats.stages.push_back(std::move(fetch));
  stats.stages.push_back(std::move(assemble));
}

}  // namespace sluice
