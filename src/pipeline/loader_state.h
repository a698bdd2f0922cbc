// Loader::State: what a loader keeps from epoch to epoch. Private to the loader.
#pragma once

#include "pipeline/stages.h"
#include "pipeline/window_budget.h"

#include <sluice/loader.h>

#include <memory>
#include <optional>

namespace sluice {

struct Loader::State {
  State(GraphData& graph,
        const LoaderOptions& given,
        std::shared_ptr<const QuerySource> asked,
        const LoaderMemory& share,
        MemoryLedger& book);

  void check_planned() const;
  // Of a mini-batch to size things by: it is sampled once, for with edges on disk that takes longer
  // than many a mini-batch of a group.
  const BatchSizes& first_sizes();
  // The split of the bytes for windows of an epoch from there on.
  WindowBudget split(std::uint64_t first_batch);
  // Sizes windows, and makes the caches unless those of an earlier start will do.
  void make_room();
  void be_the_active_one();
  // Whether all of the epoch was taken.
  bool at_the_end() const { return where.first_batch + delivered >= queries->num_batches(); }
  void make_way();
  void halt();

  GraphData::State& data;
  LoaderOptions options;
  LoaderMemory memory;
  MemoryLedger& ledger;
  std::shared_ptr<const QuerySource> queries;
  BatchSampler sampler;
  RowFetcher fetcher;
  Assembler assembler;
  std::optional<DeviceFeed> feed;  // where batches go to a GPU
  PlanningMemory planning;
  EpochPlanner planner;
  std::optional<BatchSizes> sizes_of_first;  // of the first mini-batch of all, once it was sampled
  LoaderStart where;                         // of the epoch
  std::uint64_t delivered = 0;
  std::uint64_t chain = 0;         // batches_xxh3 so far
  std::unique_ptr<Stages> stages;  // of the epoch; null before the first; last: they use the others
};

}  // namespace sluice
