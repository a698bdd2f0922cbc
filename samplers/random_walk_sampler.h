// RandomWalkSampler: the nodes that random walks from the seeds visit, and all edges of the graph
// among them (GraphSAINT's random-walk sampler: Zeng, Zhou, Srivastava, Kannan, Prasanna,
// "GraphSAINT: Graph Sampling Based Inductive Learning Method", 2020).
//
// The seeds are the walks' roots, and the loss is theirs: GraphSAINT also trains on the other
// visited nodes, and divides by how often each node and edge is sampled; Batch carries neither.
// Walks go along in-edges, as RandomWalker says, so that messages flow back to the roots. Any
// number of node types and relations. One sampler a thread.
#pragma once

#include "samplers/induced_subgraph.h"
#include "samplers/random_walker.h"

#include <sluice/options.h>
#include <sluice/sampler.h>

#include <cstdint>

namespace sluice {

struct RandomWalkSamplerOptions {
  RandomWalkOptions walk;   ///< its keys stand beside the sampler's own
  std::int64_t layers = 2;  ///< of the network, each over the whole subgraph

  void describe(Schema& schema);
  std::size_t num_layers() const { return static_cast<std::size_t>(layers); }
};

class RandomWalkSampler final : public Sampler {
 public:
  using Options = RandomWalkSamplerOptions;

  /// @param key of the run's seed. Throws as RandomWalker, and kUsage for no layers.
  RandomWalkSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key);
  RandomWalkSampler(const RandomWalkSampler&) = delete;
  RandomWalkSampler& operator=(const RandomWalkSampler&) = delete;

  std::size_t num_layers() const override { return static_cast<std::size_t>(options_.layers); }
  /// Nodes come in the order of the steps that find them. All rows are written by each layer but
  /// the last: InducedSubgraph::make_layers.
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override {
    return workspace_of(builder_, walker_, induced_);
  }

 private:
  Result<Batch> sample_whole(const SampleRequest& request);
  Result<void> list_visited(const RandomWalker::Walks& walks);

  Options options_;
  BatchBuilder builder_;
  RandomWalker walker_;
  InducedSubgraph induced_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
