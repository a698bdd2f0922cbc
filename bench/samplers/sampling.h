// A graph to sample from, and a round of mini-batches sampled from it by several threads.
#pragma once

#include "bench/support/rmat_dataset.h"

#include <sluice/sampler.h>
#include <sluice/samplers/seed_order.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

/// The topologies of a dataset, in RAM.
class BenchGraph {
 public:
  /// Opens `path`, or makes an R-MAT graph of 2^scale nodes below `dir` when `path` is empty; it
  /// goes with this object.
  BenchGraph(const std::string& path, const std::string& dir, std::uint64_t scale);
  BenchGraph(const BenchGraph&) = delete;
  BenchGraph& operator=(const BenchGraph&) = delete;

  const SamplerGraph& graph() const { return graph_; }
  /// Of the dataset.
  const std::string& path() const { return dataset().path(); }
  /// Seed candidates: the nodes of type 0 with in-edges.
  const std::vector<std::uint64_t>& seeds() const { return seeds_; }

 private:
  const Dataset& dataset() const { return made_.dataset(); }

  RmatDataset made_;
  SamplerGraph graph_;
  std::vector<std::uint64_t> seeds_;
};

struct SamplingWork {
  std::vector<std::int64_t> fanout;
  BlockParts parts;
  int threads = 1;
  std::uint64_t num_batches = 100;
  std::uint64_t batch_size = 1024;
  std::uint64_t rounds = 5;
};

/// The mini-batches of seeds that are sampled.
SeedOrder seed_order(const BenchGraph& graph, const SamplingWork& work);

/// Of one round; times are medians over the rounds.
struct SamplingResult {
  std::uint64_t edges = 0;
  std::uint64_t nodes = 0;
  double seconds = 0;
  double cpu_seconds =
      0;  ///< of all threads: what a machine shared with others still measures well
  std::uint64_t workspace_bytes = 0;  ///< of all threads
};

/// Samples the batches of an epoch, one a thread at a time; a first round is not timed.
SamplingResult run_sampling(const BenchGraph& graph, const SamplingWork& work);

}  // namespace sluice::bench
