// ClusterSampler: all nodes of the seeds' clusters, and all edges of the graph among them
// (Cluster-GCN: Chiang, Liu, Si, Li, Bengio, Hsieh, "Cluster-GCN: An Efficient Algorithm for
// Training Deep and Large Graph Convolutional Networks", 2019).
//
// Give it the seeds of a ClusterSeedOrder, and a batch is q whole clusters with the edges between
// them too, as the paper's stochastic multiple partitions have it. Nothing is drawn. With several
// node types a cluster has nodes of each. One sampler a thread.
#pragma once

#include "samplers/clusters.h"
#include "samplers/induced_subgraph.h"

#include <sluice/options.h>
#include <sluice/sampler.h>

#include <cstdint>
#include <memory>

namespace sluice {

struct ClusterSamplerOptions {
  /// Ranges that each type's ids are cut into where no clusters are given: for a dataset whose node
  /// order keeps neighbours close. A batch of q clusters holds about q / clusters of all nodes.
  std::int64_t clusters = 100;
  std::int64_t per_batch = 1;  ///< clusters whose seeds make a mini-batch
  std::int64_t layers = 2;     ///< of the network, each over the whole subgraph
  /// Clusters found elsewhere (a partitioner's), instead of ranges; not a key of the config.
  std::shared_ptr<const Clusters> given = nullptr;

  void describe(Schema& schema);
  std::size_t num_layers() const { return static_cast<std::size_t>(layers); }
  /// A ClusterSeedOrder.
  std::unique_ptr<BatchOrder> make_order(const OrderRequest& request) const;
};

class ClusterSampler final : public Sampler {
 public:
  using Options = ClusterSamplerOptions;

  /// @param key has no use: nothing is drawn. Throws kUsage for no layers or clusters, or where
  /// nodes of some type are in no cluster: they would be in no batch; kInternal for a graph that
  /// does not match its schema.
  ClusterSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key);
  ClusterSampler(const ClusterSampler&) = delete;
  ClusterSampler& operator=(const ClusterSampler&) = delete;

  const Clusters& clusters() const { return *options_.given; }
  std::size_t num_layers() const override { return static_cast<std::size_t>(options_.layers); }
  /// The seeds, then the other nodes cluster by cluster, ascending. All rows are written by each
  /// layer but the last: InducedSubgraph::make_layers.
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override {
    return workspace_of(builder_, workspace_.clusters, workspace_.induced);
  }

 private:
  struct Workspace {
    NodeTable clusters;  // of the seeds, each once
    InducedSubgraph induced;
  };

  Result<Batch> sample_whole(const SampleRequest& request);
  Result<void> list_clusters(const SampleRequest& request);

  BatchBuilder builder_;
  Options options_;
  Workspace workspace_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
