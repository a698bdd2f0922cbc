#include <sluice/loader.h>

#include "core/hash.h"
#include "pipeline/loader_state.h"

#include <sluice/samplers/node_queries.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

// To a GPU features go with their mini-batch.
LoaderOptions options_for(const GraphData::State& data, LoaderOptions options) {
  if (data.options.compute) options.deferred_features = false;
  return options;
}

std::shared_ptr<const QuerySource> not_null(std::shared_ptr<const QuerySource> queries) {
  if (queries) return queries;
  throw Error(ErrorCode::kUsage,
              "a loader is made without queries: they are null",
              "give NodeQueries, LinkQueries, or a QuerySource of your own");
}

}  // namespace

Loader::State::State(GraphData& graph,
                     const LoaderOptions& given,
                     std::shared_ptr<const QuerySource> asked,
                     const LoaderMemory& share,
                     MemoryLedger& book)
    : data(graph.state()),
      options(options_for(data, given)),
      memory(share),
      ledger(book),
      queries(not_null(std::move(asked))),
      sampler({data, options, *queries, book}),
      fetcher(data, book),
      assembler(data, options, book),
      planning(data, options, memory, book, sampler),
      planner(data, options, memory, book, *queries, sampler, planning) {
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
    if (stages && !at_the_end()) {
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
  std::unique_ptr<NextEpoch> next = planner.complete_next();
  halt();
  planner.set_aside(std::move(next));
}

void Loader::State::halt() {
  if (data.active == this) data.active = nullptr;
  if (stages) stages->stop();
  planner.end();
  if (!stages || !feed) return;
  feed->finish_window();  // a stopped run leaves one in the middle
  feed->ring().open();
}

// Where memory is used in turns all that is trained on must be planned.
void Loader::State::check_planned() const {
  const Phases phases(memory);
  if (!phases.all_kept()) return;
  if (is_planned(data, phases, queries->num_batches()) && !feed) return;
  throw Error(ErrorCode::kUsage,
              "sampling and steps cannot take turns in memory: epochs are not planned",
              "give GraphDataOptions a scratch folder, features on disk and a cache that wants "
              "next uses, as "
              "\"belady\" does, or leave out LoaderMemory::in_turns");
}

const BatchSizes& Loader::State::first_sizes() {
  if (!sizes_of_first) sizes_of_first.emplace(sampler.sample_one(0), data.tables);
  return *sizes_of_first;
}

WindowBudget Loader::State::split(std::uint64_t first_batch) {
  const Phases phases(memory);
  const std::uint64_t batches = queries->num_batches() - first_batch;
  // A single mini-batch is a window either way: it does not ask for caches of another size.
  const bool planned = is_planned(data, phases, batches) || (batches <= 1 && may_plan(data));
  const bool known = planned && (phases.all_kept() || sampler.worth_keeping());
  return split_window_bytes(
      data, first_sizes(), memory.window_bytes, {options.window, phases, known});
}

void Loader::State::make_room() {
  if (queries->num_batches() == 0) return planner.size_windows({}, 0);
  const TraceSpan span(options.trace, "make room");
  WindowBudget budget = split(where.first_batch);
  data.make_caches(budget.cache_bytes, budget.cached_bytes, budget.least_slots, ledger);
  std::vector<std::uint64_t> slots(data.tables.size());
  for (std::size_t table = 0; table < data.caches.size(); ++table)
    slots[table] = data.caches[table] ? data.caches[table]->table.slots() : 0;
  planner.size_windows(within(std::move(budget.limits), slots), first_sizes().blocks);
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
    : Loader(data,
             options,
             std::make_shared<NodeQueries>(data.schema(),
                                           NodeQueryOptions{std::move(seeds),
                                                            data.target_type(),
                                                            options.batch_size,
                                                            options.shuffle,
                                                            RandomKey(options.seed),
                                                            options.sampler},
                                           &ledger),
             memory,
             ledger) {}

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
  if (num_batches() == 0)
    throw Error(ErrorCode::kUsage, "an epoch has no mini-batches", "give seeds or other queries");
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
    const BatchSizes sizes(batch, state_->data.tables);
    state_->assembler.add_derived(batch);
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
                                  least_window_bytes(state_->data, sizes, Phases(state_->memory)));
    const TurnBytes turns =
        turn_bytes(state_->data, sizes, num_batches(), state_->sampler.group_size());
    probe.sampling_bytes = std::max(probe.sampling_bytes, turns.sampling);
    probe.kept_bytes = std::max(probe.kept_bytes, turns.kept);
  }
  probe.workspace_bytes = state_->sampler.bytes_a_workspace() * probe.group;
  probe.sampling_bytes += probe.workspace_bytes;
  return probe;
}

void Loader::start(const LoaderStart& where) {
  State& state = *state_;
  if (where.first_batch > num_batches())
    throw Error(ErrorCode::kUsage,
                fmt::format("mini-batch {} is to be the first, and an epoch has {}",
                            where.first_batch,
                            num_batches()),
                "go on with the batch size and the queries that it was counted with");
  std::unique_ptr<NextEpoch> prepared =
      state.planner.claim(where, state.stages && state.at_the_end());
  const bool ready = prepared != nullptr;
  stop();
  state.be_the_active_one();
  state.stages.reset();
  state.delivered = 0;
  state.chain = where.batches_xxh3;
  state.where = where;
  const DataCounts before{DataCounts::disk_of(state.data),
                          DataCounts::topology_of(state.data),
                          DataCounts::snapshot_of(state.data),
                          state.fetcher.counts()};
  state.planner.begin(where, std::move(prepared));
  if (!ready) {
    state.check_planned();
    state.make_room();
  }
  if (state.feed) state.feed->begin(state.memory.transfer_bytes);
  state.stages = std::make_unique<Stages>(Stages::Setting{state.data,
                                                          state.options,
                                                          state.memory,
                                                          state.planner,
                                                          state.fetcher,
                                                          state.assembler,
                                                          state.feed ? &*state.feed : nullptr,
                                                          where.epoch,
                                                          before});
}

bool Loader::wait(std::chrono::milliseconds most) {
  return !state_->stages || state_->stages->wait(most);
}

std::shared_ptr<const Batch> Loader::next() {
  State& state = *state_;
  if (!state.stages) return nullptr;
  std::optional<Ready> item = state.stages->next();
  if (!item) return nullptr;
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
  LoaderStats stats;
  stats.batches = state_->delivered;
  stats.batches_xxh3 = state_->chain;
  if (state_->stages) state_->stages->add_to(stats);
  return stats;
}

}  // namespace sluice
