#include <sluice/loader.h>

#include "core/hash.h"
#include "core/interrupt.h"
#include "pipeline/assembler.h"
#include "pipeline/byte_queue.h"
#include "pipeline/device_feed.h"
#include "pipeline/row_fetcher.h"
#include "pipeline/stage_state.h"
#include "pipeline/window_budget.h"
#include "pipeline/window_sampler.h"

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace sluice {
namespace {

// A window whose rows are in, on its way to the assembler.
using WindowPtr = std::shared_ptr<Window>;

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
    explicit Run(std::uint64_t queue_bytes) : ready(queue_bytes) {}
    ByteQueue<WindowPtr> sampled{
        0};  // windows are handed over, so that no more live than there are stages
    ByteQueue<WindowPtr> fetched{0};
    ByteQueue<Ready> ready;
    std::atomic<std::int64_t> sampling{0};
    std::atomic<std::int64_t> planning{0};
    std::atomic<bool> stopping{false};
    mutable std::mutex plan_mutex;
    std::unique_ptr<EpochPlan> plan;  // made by the sampling thread before its first window
    std::atomic<std::uint64_t> bytes_written{0};
    std::atomic<std::uint64_t> topology_bytes{0};  // and of sampled batches that were kept
    std::atomic<std::uint64_t> spool_written{0};
    std::atomic<std::uint64_t> topology_requests{0};
    std::atomic<std::int64_t> fetching{0};
    std::atomic<std::int64_t> assembling{0};
    std::atomic<std::uint64_t> windows{0};
    WindowsInUse in_use;
    FetchCounts counts_before;
    SharedCounts counts;
    std::atomic<std::uint64_t> bytes_useful{0};
    std::atomic<std::uint64_t> bytes_read{0};
    std::atomic<std::uint64_t> requests{0};
    std::array<std::jthread, 3> threads;
  };

  void sample_loop(Run& run);
  void fetch_loop(Run& run);
  void assemble_loop(Run& run);
  std::optional<Ready> make_ready(Run& run, const Window& window, std::size_t index, Batch batch);
  bool deliver(Run& run, Ready item, std::uint64_t bytes) const;
  void plan_epoch(Run& run);
  WindowLimits make_room();
  void halt();
  // The stores are the fetching thread's own while it runs.
  FeatureStats device_stats() const;
  // The topologies are the sampling thread's own.
  TopologyStats topology_stats() const;

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
  std::uint64_t planning_bytes = 0;  // for planning, while no window lives
  std::uint64_t batch_bytes = 0;     // of a sampled mini-batch
  std::uint64_t delivered = 0;
  std::uint64_t chain = 0;     // batches_xxh3 so far
  FeatureStats device_before;  // counters of the stores when this run began
  TopologyStats topology_before;
};

// Samples the epoch ahead where that is of use: for the rows' next uses, or for repacking. Where
// edges are on disk the mini-batches are kept on disk too, so that edges are read once.
void Loader::State::plan_epoch(Run& now) {
  const GraphDataOptions& how = data.options;
  const bool useful = how.cache == "belady" || how.plan == PlanChoice::kRepack;
  bool disk = false;
  for (std::size_t type = 0; type < data.features.size(); ++type) disk = disk || data.on_disk(type);
  const bool possible = disk && !how.scratch.empty() && where.first_batch + 1 < order.num_batches();
  if (!useful || !possible) return sampler.begin(where, limits);
  EpochPlanOptions planning;
  planning.folder = how.scratch;
  planning.plan = how.plan;
  planning.stopped = [&now] { return now.stopping || interrupted(); };
  // While an epoch is planned nothing is delivered: what mini-batches, their features and the
  // consumer's tensors will take is free, and so are the caches' rows. A quarter stays.
  for (const auto& cache : data.caches) {
    if (cache) cache->release_rows();
  }
  const bool bounded = ledger.limit() != MemoryLedger::kUnlimited;
  const std::uint64_t room = bounded ? ledger.available() : memory.window_bytes;
  planning.buffer_bytes = std::max(planning_bytes, room / 4 * 3);
  if (sampler.paged()) sampler.keep_batches(how.scratch, room, batch_bytes);
  const Busy busy(now.planning);
  auto plan = EpochPlan::make(data, sampler, where, limits, *data.device, planning, ledger);
  const std::scoped_lock lock(now.plan_mutex);
  now.plan = std::move(plan);
}

void Loader::State::sample_loop(Run& now) {
  try {
    {
      const Busy busy(now.sampling);
      plan_epoch(now);
    }
    for (;;) {
      WindowPtr window;
      {
        const Busy busy(now.sampling);
        window = sampler.sample();
      }
      const TopologyStats topology = topology_stats();
      now.topology_bytes =
          topology.bytes_read - topology_before.bytes_read + sampler.spool_bytes_read();
      now.spool_written = sampler.spool_bytes_written();
      now.topology_requests = topology.requests - topology_before.requests;
      if (!window || !now.sampled.hand_over(std::move(window))) break;
    }
    now.sampled.finish();
  } catch (...) {
    now.sampled.finish(std::current_exception());
  }
}

void Loader::State::fetch_loop(Run& now) {
  try {
    auto window = now.sampled.pop();
    while (window) {
      // The window after tells which rows are worth keeping.
      auto ahead = now.sampled.pop();
      {
        const Busy busy(now.fetching);
        fetcher.fetch(**window, {now.plan.get(), ahead ? ahead->get() : nullptr}, [&] {
          now.in_use.wait_for_none();
        });
      }
      const FeatureStats device = device_stats();
      now.bytes_read =
          device.bytes_read - device_before.bytes_read + (now.plan ? now.plan->bytes_read() : 0);
      now.bytes_written = now.plan ? now.plan->bytes_written() : 0;
      now.requests =
          device.requests - device_before.requests + (now.plan ? now.plan->requests() : 0);
      now.counts.set(fetcher.counts());
      ++now.windows;
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
  const Busy busy(now.assembling);
  auto batch = std::make_shared<Batch>(std::move(sampled));
  assembler.assemble(*batch, window, index);
  Ready ready;
  if (options.hash) ready.hash = hash_batch(*batch);
  ready.batch = std::move(batch);
  return ready;
}

void Loader::State::assemble_loop(Run& now) {
  try {
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
  // No window lives while an epoch is planned, and caches are without rows; a quarter is for their
  // bookkeeping and the window being sampled.
  planning_bytes = memory.window_bytes / 4 * 3;
  for (std::size_t type = 0; type < data.caches.size(); ++type) {
    if (!data.caches[type]) continue;
    const std::uint64_t slots = data.caches[type]->slots();
    budget.limits.rows[type] = std::min(budget.limits.rows[type], slots / 2);
    budget.limits.most_rows[type] = slots;
  }
  return std::move(budget.limits);
}

FeatureStats Loader::State::device_stats() const {
  FeatureStats sum;
  for (const auto& store : data.features) {
    if (!store) continue;
    const FeatureStats one = store->stats();
    sum.bytes_read += one.bytes_read;
    sum.requests += one.requests;
  }
  return sum;
}

TopologyStats Loader::State::topology_stats() const {
  TopologyStats sum;
  for (const auto& topology : data.graph.relations) {
    const TopologyStats one = topology->stats();
    sum.bytes_read += one.bytes_read;
    sum.requests += one.requests;
  }
  return sum;
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

void Loader::start(const LoaderStart& where) {
  stop();
  State& state = *state_;
  state.delivered = 0;
  state.chain = where.batches_xxh3;
  state.device_before = state.device_stats();
  state.topology_before = state.topology_stats();
  state.run = std::make_unique<State::Run>(state.memory.queue_bytes);
  State::Run& run = *state.run;
  run.counts_before = state.fetcher.counts();
  run.counts.set(run.counts_before);
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
  stats.bytes_read = run.bytes_read + run.topology_bytes;
  stats.requests = run.requests + run.topology_requests;
  stats.bytes_useful = run.bytes_useful;
  stats.windows = run.windows;
  if (state.feed) stats.bytes_to_device = state.feed->bytes();
  const double blocked = run.ready.blocked() + (state.feed ? state.feed->blocked() : 0);
  const FetchCounts counts = run.counts.get();
  stats.bytes_written = run.bytes_written + run.spool_written;
  stats.windows_swept = counts.windows_swept - run.counts_before.windows_swept;
  stats.windows_packed = counts.windows_packed - run.counts_before.windows_packed;
  stats.plan_seconds = seconds(run.planning);
  {
    const std::scoped_lock lock(run.plan_mutex);
    if (run.plan) stats.plans = run.plan->reasons();
  }
  stats.rows_wanted = counts.rows_wanted - run.counts_before.rows_wanted;
  stats.rows_reused = counts.rows_resident - run.counts_before.rows_resident;
  stats.stages = {{"sample", seconds(run.sampling), 0, run.sampled.blocked()},
                  {"fetch", seconds(run.fetching), run.sampled.starved(), run.fetched.blocked()},
                  {"assemble", seconds(run.assembling), run.fetched.starved(), blocked}};
  return stats;
}

}  // namespace sluice
