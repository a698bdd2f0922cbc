#include <sluice/loader.h>

#include "core/hash.h"
#include "core/interrupt.h"
#include "pipeline/assembler.h"
#include "pipeline/byte_queue.h"
#include "pipeline/device_feed.h"
#include "pipeline/epoch_forecast.h"
#include "pipeline/row_fetcher.h"
#include "pipeline/stage_clock.h"
#include "pipeline/stage_state.h"
#include "pipeline/window_budget.h"
#include "pipeline/window_sampler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace sluice {
namespace {

// A window whose rows are in, on its way to the assembler.
using WindowPtr = std::shared_ptr<Window>;

// What the fetching thread has done since the start.
struct FetchProgress {
  std::uint64_t windows = 0;
  FetchCounts counts;
  FeatureStats device;  // all reads of feature rows
  std::uint64_t bytes_written = 0;
};

// No window has more rows than its type's cache has slots, nor, of several mini-batches, than half.
WindowLimits within(WindowLimits limits, const std::vector<std::uint64_t>& slots) {
  for (std::size_t type = 0; type < slots.size(); ++type) {
    if (slots[type] == 0) continue;
    limits.rows[type] = std::min(limits.rows[type], slots[type] / 2);
    limits.most_rows[type] = slots[type];
  }
  return limits;
}

}  // namespace

struct Loader::State {
  State(GraphData& graph,
        const LoaderOptions& given,
        Array seed_ids,
        const LoaderMemory& share,
        MemoryLedger& book)
      : data(graph.state()),
        options(given),
        memory(share),
        ledger(book),
        seeds(std::move(seed_ids)),
        order(std::as_const(seeds).as<std::uint64_t>(),
              static_cast<std::uint64_t>(given.batch_size),
              given.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff,
              RandomKey(given.seed)),
        sampler(data, options, order, book),
        fetcher(data, book),
        assembler(data, options, book) {
    const GraphDataOptions& how = data.options;
    if (!how.compute) return;
    if (!data.ring)
      data.ring = std::make_shared<TransferRing>(how.compute, &book, how.compute_ledger);
    feed.emplace(assembler, options, data.ring);
  }

  // One epoch's threads and what joins them. A new one each start, so that nothing is left over
  // from a stopped one.
  struct Run {
    Run(std::uint64_t queue_bytes, TraceWriter* trace)
        : ready(queue_bytes),
          sampling("sample", trace),
          fetching("fetch", trace),
          assembling("assemble", trace) {}
    ByteQueue<WindowPtr> sampled{
        0};  // windows are handed over, so that no more live than there are stages
    ByteQueue<WindowPtr> fetched{0};
    ByteQueue<Ready> ready;
    StageClock sampling;
    StageClock fetching;
    StageClock assembling;
    std::atomic<bool> stopping{false};
    mutable std::mutex plan_mutex;
    std::unique_ptr<EpochPlan> plan;  // made by the sampling thread before its first window
    WindowsInUse in_use;
    Shared<TopologyStats> topology;
    std::atomic<std::uint64_t> spool_read{
        0};  // sampled batches that were kept, and edges as a whole
    std::atomic<std::uint64_t> spool_written{0};
    Shared<FetchProgress> fetch_progress;
    std::atomic<std::uint64_t> bytes_useful{0};
    std::array<std::jthread, 3> threads;
  };

  void sample_loop(Run& run);
  void fetch_loop(Run& run);
  void assemble_loop(Run& run);
  std::optional<Ready> make_ready(Run& run, const Window& window, std::size_t index, Batch batch);
  bool deliver(Run& run, Ready item, std::uint64_t bytes) const;
  bool planned(std::uint64_t first_batch) const;
  void plan_epoch(Run& run);
  void fetch(Run& run, Window& window, const Window* ahead);
  WindowLimits make_room();
  // What is free while an epoch is planned: nothing is delivered then, and the caches have no rows,
  // so what mini-batches, their features and the consumer's tensors will take is.
  std::uint64_t planning_room() const {
    return ledger.limit() == MemoryLedger::kUnlimited ? memory.window_bytes : ledger.available();
  }
  // A quarter stays for the caches' bookkeeping and the window being sampled.
  std::uint64_t planning_bytes(std::uint64_t room) const {
    return std::max(memory.window_bytes, room) / 4 * 3;
  }
  void halt();
  // The stores are the fetching thread's own while it runs.
  FeatureStats device_stats() const;
  // The topologies are the sampling thread's own.
  TopologyStats topology_stats() const;
  std::vector<StageTimes> stage_times() const;

  GraphData::State& data;
  LoaderOptions options;
  LoaderMemory memory;
  MemoryLedger& ledger;
  Array seeds;
  SeedOrder order;
  WindowSampler sampler;
  RowFetcher fetcher;
  Assembler assembler;
  std::optional<DeviceFeed> feed;  // where batches go to a card
  std::unique_ptr<Run> run;
  LoaderStart where;  // of the run
  WindowLimits limits;
  std::uint64_t batch_bytes = 0;  // of a sampled mini-batch
  std::uint64_t delivered = 0;
  std::uint64_t chain = 0;     // batches_xxh3 so far
  FeatureStats device_before;  // counters of the stores when this run began
  TopologyStats topology_before;
  FetchCounts counts_before;
};

// Whether the epoch is sampled ahead, from a batch on: where that is of use, for the rows' next
// uses or for repacking.
bool Loader::State::planned(std::uint64_t first_batch) const {
  const GraphDataOptions& how = data.options;
  const bool useful = how.cache == "belady" || how.plan == PlanChoice::kRepack;
  bool disk = false;
  for (std::size_t type = 0; type < data.features.size(); ++type) disk = disk || data.on_disk(type);
  return useful && disk && !how.scratch.empty() && first_batch + 1 < order.num_batches();
}

void Loader::State::plan_epoch(Run& now) {
  if (!planned(where.first_batch)) return sampler.begin(where, limits);
  const GraphDataOptions& how = data.options;
  EpochPlanOptions planning;
  planning.folder = how.scratch;
  planning.plan = how.plan;
  planning.stopped = [&now] { return now.stopping || interrupted(); };
  planning.trace = options.trace;
  for (const auto& cache : data.caches) {
    if (cache) cache->release_rows();
  }
  const std::uint64_t room = planning_room();
  planning.buffer_bytes = planning_bytes(room);
  // Where edges are on disk the mini-batches are kept on disk too, so that edges are read once.
  if (sampler.paged()) sampler.keep_batches(how.scratch, room, batch_bytes);
  auto plan = EpochPlan::make(data, sampler, where, limits, *data.device, planning, ledger);
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
        progress.device.bytes_read += now.plan->bytes_read();
        const RequestLatency packed = now.plan->latency();
        progress.device.requests += packed.requests();
        progress.device.latency += packed;
        progress.bytes_written = now.plan->bytes_written();
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
  if (!feed) return;
  feed->finish_window();  // a stopped run leaves one in the middle
  feed->ring().open();
}

// Splits the bytes for windows, and makes the caches unless those of an earlier start will do.
WindowLimits Loader::State::make_room() {
  if (order.num_batches() == 0) return {};
  const Batch first = sampler.sample_one(0);
  batch_bytes = block_bytes(first);
  WindowBudget budget = split_window_bytes(data, first, memory.window_bytes, options.window);
  data.make_caches(budget.cache_bytes, budget.cached_bytes, budget.least_slots, ledger);
  std::vector<std::uint64_t> slots(data.features.size());
  for (std::size_t type = 0; type < data.caches.size(); ++type)
    slots[type] = data.caches[type] ? data.caches[type]->slots() : 0;
  return within(std::move(budget.limits), slots);
}

FeatureStats Loader::State::device_stats() const {
  FeatureStats sum;
  for (const auto& store : data.features) {
    if (store) sum += store->stats();
  }
  return sum;
}

TopologyStats Loader::State::topology_stats() const {
  TopologyStats sum;
  for (const auto& topology : data.graph.relations) sum += topology->stats();
  return sum;
}

std::vector<StageTimes> Loader::State::stage_times() const {
  StageTimes sample = run->sampling.times();
  sample.blocked += run->sampled.blocked();
  std::vector<StageTimes> stages{sample, {"plan"}, {"repack"}};
  {
    const std::scoped_lock lock(run->plan_mutex);
    if (run->plan) std::ranges::copy(run->plan->stages(), stages.begin() + 1);
  }
  StageTimes fetch = run->fetching.times();
  fetch.starved += run->sampled.starved();
  fetch.blocked += run->fetched.blocked();
  StageTimes assemble = run->assembling.times();
  assemble.starved += run->fetched.starved();
  assemble.blocked += run->ready.blocked() + (feed ? feed->blocked() : 0);
  stages.push_back(std::move(fetch));
  stages.push_back(std::move(assemble));
  return stages;
}

Loader::Loader(GraphData& data,
               const LoaderOptions& options,
               Array seeds,
               const LoaderMemory& memory,
               MemoryLedger& ledger)
    : state_(std::make_unique<State>(data, options, std::move(seeds), memory, ledger)) {}

Loader::~Loader() {
  stop();
}

std::uint64_t Loader::num_batches() const {
  return state_->order.num_batches();
}

void Loader::set_memory(const LoaderMemory& memory) {
  state_->memory = memory;
}

LoaderProbe Loader::probe(std::uint64_t count) {
  LoaderProbe probe;
  probe.group = state_->sampler.group_size();
  for (std::uint64_t i = 0; i < std::min(count, num_batches()); ++i) {
    const Batch batch = state_->sampler.sample_one(i);
    ++probe.batches;
    probe.block_bytes = std::max(probe.block_bytes, block_bytes(batch));
    probe.feature_bytes = std::max(probe.feature_bytes, state_->assembler.assembled_bytes(batch));
    if (state_->feed)
      probe.transfer_bytes = std::max(probe.transfer_bytes, state_->feed->slab_bytes(batch));
    probe.window_bytes = std::max(probe.window_bytes, least_window_bytes(state_->data, batch));
  }
  for (const MemoryLedger::Entry& entry : state_->ledger.entries()) {
    if (entry.name == "sampler workspace") {
      probe.workspace_bytes = entry.bytes * state_->sampler.group_size();
    }
  }
  return probe;
}

LoaderForecast Loader::forecast(double seconds) {
  State& state = *state_;
  LoaderForecast nothing_read;
  nothing_read.batches = num_batches();
  if (num_batches() == 0 || !state.data.reads()) return nothing_read;
  WindowBudget budget = split_window_bytes(
      state.data, state.sampler.sample_one(0), state.memory.window_bytes, state.options.window);
  ForecastSetup setup;
  setup.batches = num_batches();
  setup.window = static_cast<std::uint64_t>(state.options.window);
  setup.slots = state.data.slots_for(budget.cache_bytes, budget.cached_bytes);
  setup.limits = within(std::move(budget.limits), setup.slots);
  setup.planned = state.planned(0);
  // As much as there will be once the caches are made.
  std::uint64_t bookkeeping = 0;
  for (std::size_t type = 0; type < setup.slots.size(); ++type) {
    if (setup.slots[type] == 0) continue;
    bookkeeping += RowCache::bytes_of(setup.slots[type], 0) +
                   RowCache::bytes_of_table(state.data.graph.schema->nodes[type].count);
  }
  setup.planning_room = state.planning_room() - std::min(state.planning_room(), bookkeeping);
  setup.planning_bytes = state.planning_bytes(setup.planning_room);
  return forecast_epoch(state.data, state.sampler, setup, seconds, state.ledger);
}

void Loader::start(const LoaderStart& where) {
  stop();
  State& state = *state_;
  state.delivered = 0;
  state.chain = where.batches_xxh3;
  state.device_before = state.device_stats();
  state.topology_before = state.topology_stats();
  state.counts_before = state.fetcher.counts();
  state.run = std::make_unique<State::Run>(state.memory.queue_bytes, state.options.trace);
  State::Run& run = *state.run;
  state.where = where;
  state.limits = state.make_room();
  if (state.feed) state.feed->begin(state.memory.transfer_bytes);
  run.threads = {std::jthread([&state, &run] { state.sample_loop(run); }),
                 std::jthread([&state, &run] { state.fetch_loop(run); }),
                 std::jthread([&state, &run] { state.assemble_loop(run); })};
}

std::shared_ptr<const Batch> Loader::next() {
  State& state = *state_;
  if (!state.run) return nullptr;
  auto item = state.run->ready.pop();
  if (!item) return nullptr;
  if (item->lease) state.feed->ring().deliver(*item->lease);
  ++state.delivered;
  if (state.options.hash) {
    const std::array<std::uint64_t, 2> link{state.chain, item->hash};
    state.chain = xxh3_64(std::as_bytes(std::span(link)));
  }
  return std::move(item->batch);
}

void Loader::stop() {
  state_->halt();
}

LoaderStats Loader::stats() const {
  const State& state = *state_;
  LoaderStats stats;
  stats.batches = state.delivered;
  stats.batches_xxh3 = state.chain;
  if (!state.run) return stats;
  const State::Run& run = *state.run;
  const FetchProgress fetched = run.fetch_progress.get();
  const TopologyStats topology = run.topology.get();
  stats.bytes_read = fetched.device.bytes_read + topology.bytes_read + run.spool_read;
  stats.requests = fetched.device.requests + topology.requests;
  stats.latency = fetched.device.latency;
  stats.latency += topology.latency;
  stats.bytes_written = fetched.bytes_written + run.spool_written;
  stats.bytes_useful = run.bytes_useful;
  if (state.feed) stats.bytes_to_device = state.feed->bytes();
  stats.windows = fetched.windows;
  stats.windows_swept = fetched.counts.windows_swept;
  stats.windows_packed = fetched.counts.windows_packed;
  stats.cache = fetched.counts.cache;
  stats.stages = state.stage_times();
  const std::scoped_lock lock(run.plan_mutex);
  if (run.plan) stats.plans = run.plan->reasons();
  return stats;
}

}  // namespace sluice
