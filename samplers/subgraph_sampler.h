// SubgraphSampler: the nodes within k hops of the seeds, under a fanout a hop, and all edges of the
// graph among them (ShaDow: Zeng et al., "Decoupling the Depth and Scope of Graph Neural Networks",
// 2021; SEAL: Zhang and Chen, "Link Prediction Based on Graph Neural Networks", 2018).
//
// How far a batch reaches (hops) and how deep the network is (layers) are two numbers. A node's
// draws are keyed by (key, epoch, round, hop, relation, node), so the nodes of a batch are those of
// its seeds' own subgraphs together, whoever its mates are; the edges are the graph's among all of
// them, so mates that are near each other share neighbourhoods, which single subgraphs would not.
// Where a seed's result must depend on nothing else, use batches of one seed (of one link's two
// ends for SEAL). Any number of node types and relations. One sampler a thread.
#pragma once

#include "samplers/induced_subgraph.h"

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/edge_scan.h>

#include <cstdint>
#include <vector>

namespace sluice {

struct SubgraphSamplerOptions {
  /// Edges drawn a node and relation, uniformly without replacement, one number a hop, the first
  /// next to the seeds; -1: all, 0: none. Nodes of a batch grow by about the product, edges by all
  /// there are among them.
  std::vector<std::int64_t> fanout{10, 10};
  /// Layers of the network, each over the whole subgraph; 0: as many as hops.
  std::int64_t layers = 0;

  void describe(Schema& schema);
  std::size_t num_layers() const {
    return layers > 0 ? static_cast<std::size_t>(layers) : fanout.size();
  }
};

class SubgraphSampler final : public Sampler {
 public:
  using Options = SubgraphSamplerOptions;

  /// @param key of the run's seed. Throws kUsage for a fanout below -1 or no layers, kInternal for
  /// a graph that does not match its schema.
  SubgraphSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key);
  SubgraphSampler(const SubgraphSampler&) = delete;
  SubgraphSampler& operator=(const SubgraphSampler&) = delete;

  std::size_t num_layers() const override { return num_layers_; }
  /// All rows are written by each layer but the last: InducedSubgraph::make_layers.
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override {
    return workspace_of(builder_, workspace_.scan, workspace_.induced, workspace_.frontier);
  }

 private:
  struct Workspace {
    EdgeScan scan;
    InducedSubgraph induced;
    ChargedBuffer<std::uint64_t> frontier;
  };
  // Rows of a type's list whose edges a hop draws.
  struct Rows {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  Result<Batch> sample_whole(const SampleRequest& request);
  Result<void> list_hops(RandomKey round_key);
  Result<void> list_sources(const SampledRelation& relation,
                            Rows rows,
                            std::int64_t fanout,
                            RandomKey key);

  Options options_;
  std::size_t num_layers_;
  RandomKey key_;
  BatchBuilder builder_;
  Workspace workspace_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
