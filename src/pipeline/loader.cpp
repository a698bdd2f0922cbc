#include <sluice/loader.h>
#include <sluice/mutex.h>

#include "core/hash.h"
#include "pipeline/epoch_forecast.h"
#include "pipeline/loader_state.h"
#include "pipeline/plan_split.h"
#include "samplers/node_queries.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

// No window has more rows than its type's cache has slots, nor, of several mini-batches, than half.
WindowLimits within(WindowLimits limits, const std::vector<std::uint64_t>& slots) {
  for (std::size_t type = 0; type < slots.size(); ++type) {
    if (slots[type] == 0) continue;
    limits.rows[type] = std::min(limits.rows[type], slots[type] / 2);
    limits.most_rows[type] = slots[type];
  }
  return limits;
}

// Of nodes of the data's target type.
std::shared_ptr<const QuerySource> node_queries(const GraphData& data,
                                                const LoaderOptions& options,
                                                Array seeds,
                                                MemoryLedger& ledger) {
  NodeQueryOptions asked;
  asked.nodes = std::move(seeds);
  asked.type = data.target_type();
  asked.batch_size = options.batch_size;
  asked.shuffle = options.shuffle;
  asked.key = RandomKey(options.seed);
  asked.sampler = options.sampler;
  return std::make_shared<NodeQueries>(data.schema(), std::move(asked), &ledger);
}

void add_times(std::span<StageTimes> to, const std::vector<StageTimes>& more, double sign) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    to[i].busy += sign * more[i].busy;
    to[i].starved += sign * more[i].starved;
    to[i].blocked += sign * more[i].blocked;
  }
}

}  // namespace

Loader::State::State(GraphData& graph,
                     const LoaderOptions& given,
                     std::shared_ptr<const QuerySource> asked,
                     const LoaderMemory& share,
                     MemoryLedger& book)
    : data(graph.state()),
      options(given),
      memory(share),
      ledger(book),
      queries(std::move(asked)),
      sampler(data, options, *queries, book),
      fetcher(data, book),
      assembler(data, options, book) {
  const GraphDataOptions& how = data.options;
  if (!how.compute) return;
  if (!data.ring)
    data.ring = std::make_shared<TransferRing>(how.compute, &book, how.compute_ledger);
  feed.emplace(assembler, options, data.ring);
}

// Another loader of the data that came to the end of an epoch may be preparing the next one.
void Loader::State::be_the_active_one() {
  if (data.active != nullptr && data.active != this) data.stop_active();
  data.active = this;
  data.stop_active = [this] {
    if (run && !at_the_end()) {
      throw Error(ErrorCode::kUsage,
                  "a loader is started while another one of the same data is in an epoch",
                  "go on to that epoch's end, or stop() that loader");
    }
    make_way();
  };
}

// At the end of an epoch. What was prepared is kept if another loader was to come: then in place of
// this epoch's scratch files, so that the other has as much of the disk as without.
void Loader::State::make_way() {
  std::unique_ptr<NextEpoch> next;
  if (run && where.others_between) {
    const MutexLock lock(run->plan_mutex);
    next = std::move(run->following);
  }
  if (next) {
    next->complete();
    data.busy_making_way = next->stages();
    add_times(data.busy_making_way, std::exchange(run->told, next->stages()), -1);
  }
  halt();
  if (!next && !memory.in_turns) return;
  sampler.forget_kept();
  if (run && run->prepared) run->prepared->forget_windows();
  if (run && run->plan) run->plan->drop_packed();
  aside = std::move(next);
}

// Of a mini-batch to size things by: it is sampled once, for with edges on disk that takes longer
// than many a mini-batch of a group.
const BatchSizes& Loader::State::first_sizes() {
  if (!sizes_of_first) sizes_of_first.emplace(sampler.sample_one(0));
  return *sizes_of_first;
}

// Splits the bytes for windows, and makes the caches unless those of an earlier start will do.
WindowLimits Loader::State::make_room() {
  if (queries->num_batches() == 0) return {};
  const TraceSpan span(options.trace, "make room");
  const BatchSizes& first = first_sizes();
  batch_bytes = first.blocks;
  WindowBudget budget =
      split_window_bytes(data, first, memory.window_bytes, kind_of_windows(where.first_batch));
  data.make_caches(budget.cache_bytes, budget.cached_bytes, budget.least_slots, ledger);
  return within(std::move(budget.limits), slots());
}

// A single mini-batch is a window either way: it does not ask for caches of another size.
WindowKind Loader::State::kind_of_windows(std::uint64_t first_batch) const {
  const bool single = first_batch + 1 >= queries->num_batches();
  const bool known = planned(first_batch) || (single && may_plan());
  return {options.window, memory.in_turns, known && (memory.in_turns || sampler.worth_keeping())};
}

std::vector<std::uint64_t> Loader::State::slots() const {
  std::vector<std::uint64_t> slots(data.features.size());
  for (std::size_t type = 0; type < data.caches.size(); ++type)
    slots[type] = data.caches[type] ? data.caches[type]->slots() : 0;
  return slots;
}

FeatureStats Loader::State::disk_stats() const {
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

SnapshotStats Loader::State::snapshot_stats() const {
  return data.snapshots ? data.snapshots->stats() : SnapshotStats{};
}

std::vector<StageTimes> Loader::State::stage_times() const {
  StageTimes sample = run->sampling.times();
  sample.blocked += run->sampled.blocked();
  std::vector<StageTimes> stages{sample, {"plan"}, {"repack"}};
  const std::span<StageTimes> planning = std::span(stages).subspan(1);
  {
    const MutexLock lock(run->plan_mutex);
    if (run->plan) add_times(planning, run->plan->stages(), 1);
    if (!run->plan && run->prepared) add_times(planning, run->prepared->stages(), 1);
    add_times(planning, run->busy_besides, 1);
    add_times(planning, run->busy_before, -1);
    if (run->following) {
      run->told = run->following->stages();
      add_times(planning, run->told, 1);
    }
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
               std::shared_ptr<const QuerySource> queries,
               const LoaderMemory& memory,
               MemoryLedger& ledger)
    : state_(std::make_unique<State>(data, options, std::move(queries), memory, ledger)) {}

Loader::Loader(GraphData& data,
               const LoaderOptions& options,
               Array seeds,
               const LoaderMemory& memory,
               MemoryLedger& ledger)
    : Loader(data, options, node_queries(data, options, std::move(seeds), ledger), memory, ledger) {
}

Loader::~Loader() {
  stop();
}

std::uint64_t Loader::num_batches() const {
  return state_->queries->num_batches();
}

void Loader::set_memory(const LoaderMemory& memory) {
  state_->memory = memory;
}

std::shared_ptr<const Batch> Loader::blank() {
  auto batch = std::make_shared<Batch>(state_->sampler.sample_one(0));
  (void)state_->sampler.release_workspaces();
  state_->assembler.assemble_blank(*batch);
  return batch;
}

LoaderProbe Loader::probe(std::uint64_t count) {
  LoaderProbe probe;
  probe.group = state_->sampler.group_size();
  for (std::uint64_t i = 0; i < std::min(count, num_batches()); ++i) {
    Batch batch = state_->sampler.sample_one(i);
    const BatchSizes sizes(batch);
    state_->assembler.add_transposes(batch);
    const std::uint64_t blocks = block_bytes(batch);
    if (i == 0) state_->sizes_of_first = sizes;
    ++probe.batches;
    const std::uint64_t features = state_->assembler.assembled_bytes(batch);
    const std::uint64_t both = blocks + features;
    probe.smallest_bytes = i == 0 ? both : std::min(probe.smallest_bytes, both);
    probe.sampled_bytes = std::max(probe.sampled_bytes, sizes.blocks);
    probe.block_bytes = std::max(probe.block_bytes, blocks);
    probe.feature_bytes = std::max(probe.feature_bytes, features);
    if (state_->feed)
      probe.transfer_bytes = std::max(probe.transfer_bytes, state_->feed->slab_bytes(batch));
    probe.window_bytes = std::max(probe.window_bytes,
                                  least_window_bytes(state_->data, sizes, state_->memory.in_turns));
    const TurnBytes turns =
        turn_bytes(state_->data, sizes, num_batches(), state_->sampler.group_size());
    probe.sampling_bytes = std::max(probe.sampling_bytes, turns.sampling);
    probe.kept_bytes = std::max(probe.kept_bytes, turns.kept);
  }
  for (const MemoryLedger::Entry& entry : state_->ledger.entries()) {
    if (entry.name == "sampler workspace") {
      probe.workspace_bytes = entry.bytes * state_->sampler.group_size();
    }
  }
  probe.sampling_bytes += probe.workspace_bytes;
  return probe;
}

LoaderForecast Loader::forecast(double seconds) {
  State& state = *state_;
  LoaderForecast nothing_read;
  nothing_read.batches = num_batches();
  if (num_batches() == 0 || !state.data.reads()) return nothing_read;
  const BatchSizes& first = state.first_sizes();
  WindowBudget budget =
      split_window_bytes(state.data, first, state.memory.window_bytes, state.kind_of_windows(0));
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
  if (setup.planned) {
    const std::uint64_t block = first.blocks;
    const std::uint64_t kept = std::min(
        state.kept_while_planning(setup.planning_room, setup.limits, block), budget.cache_bytes);
    const PlanSplitSetup split{
        num_batches(), block, setup.limits, setup.slots, setup.planning_room - kept, kept};
    if (!state.memory.in_turns)
      setup.first_part = split_plan(state.data, state.sampler, split).first_part;
  }
  return forecast_epoch(state.data, state.sampler, setup, seconds, state.ledger);
}

void Loader::start(const LoaderStart& where) {
  State& state = *state_;
  std::unique_ptr<NextEpoch> prepared = state.prepared_for(where);
  std::vector<StageTimes> told = state.run ? std::move(state.run->told) : std::vector<StageTimes>{};
  stop();
  state.be_the_active_one();
  state.delivered = 0;
  state.chain = where.batches_xxh3;
  state.disk_before = state.disk_stats();
  state.topology_before = state.topology_stats();
  state.snapshot_before = state.snapshot_stats();
  state.counts_before = state.fetcher.counts();
  state.run = std::make_unique<State::Run>(state.memory.queue_bytes, state.options.trace);
  State::Run& run = *state.run;
  state.where = where;
  run.not_prepared = std::exchange(state.not_prepared, {});
  run.busy_besides = std::exchange(state.busy_besides, {});
  if (prepared || !run.busy_besides.empty()) run.busy_before = std::move(told);
  if (run.busy_besides.empty()) run.busy_besides = std::exchange(state.data.busy_making_way, {});
  if (prepared) {
    run.prepared = std::move(prepared);
  } else {
    if (state.memory.in_turns) state.check_turns();
    state.limits = state.make_room();
  }
  if (state.feed) state.feed->begin(state.memory.transfer_bytes);
  run.threads = {std::jthread([&state, &run] { state.sample_loop(run); }),
                 std::jthread([&state, &run] { state.fetch_loop(run); }),
                 std::jthread([&state, &run] { state.assemble_loop(run); })};
}

std::shared_ptr<const Batch> Loader::next() {
  State& state = *state_;
  if (!state.run) return nullptr;
  if (state.memory.in_turns) state.run->demand.ask();
  auto item = state.run->ready.pop();
  if (!item) {
    if (state.feed) state.feed->ring().check();
    return nullptr;
  }
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
  stats.bytes_read = fetched.disk.bytes_read + topology.bytes_read + run.spool_read;
  stats.requests = fetched.disk.requests + topology.requests;
  stats.latency = fetched.disk.latency;
  stats.latency += topology.latency;
  stats.bytes_written = fetched.bytes_written + run.spool_written;
  stats.bytes_useful = run.bytes_useful;
  if (state.feed) {
    stats.bytes_to_device = state.feed->bytes();
    stats.batches_gathered = state.feed->gathered();
  }
  stats.windows = fetched.windows;
  stats.windows_swept = fetched.counts.windows_swept;
  stats.windows_packed = fetched.counts.windows_packed;
  stats.cache = fetched.counts.cache;
  stats.snapshot = run.snapshot.get();
  stats.stages = state.stage_times();
  const MutexLock lock(run.plan_mutex);
  if (run.plan) stats.plans = run.plan->reasons();
  if (!run.not_prepared.empty())
    stats.plans.push_back("not prepared beside the epoch before: " + run.not_prepared);
  return stats;
}

}  // namespace sluice
