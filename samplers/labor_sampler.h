// LaborSampler: layer-neighbour sampling (LABOR: Balin and Catalyurek, "Layer-Neighbor Sampling -
// Defusing Neighborhood Explosion in GNNs", NeurIPS 2023).
//
// As NeighborSampler, hop by hop, but a source node t has one random number r(t) for all targets of
// a layer and takes part where it is small. So targets prefer the same nodes: a mini-batch has
// fewer, while each target's sample by itself is distributed as before. r(t) is keyed by (key,
// epoch, round, hop, node type, t), so what a target draws is still a function of keys, the target
// and its own list: never of batch mates, order, threads, or where edges are kept.
//
// - count = exact (sequential Poisson): the min(k, d) in-edges with the least r(t), or r(t) /
// weight.
//   Unweighted, any k of the d are equally likely: the mean over them is unbiased. By weight,
//   chances are about in proportion. Parallel edges have one number: a node named twice counts for
//   a little less than twice.
// - count = poisson (LABOR-0): each with r(t) <= k / d: k in the mean, none now and then, of which
//   a mean is 0. The mean over those drawn is unbiased where there are any.
// - `dependence` k: r(t) passes from one number to another in k mini-batches, then to a third
//   (SourceNumbers): each mini-batch by itself is distributed as before, successive ones are alike.
//
// LABOR-i and LABOR-*, whose chances depend on batch mates, are not offered.
//
// Cost: whole lists are looked at, a number an edge: a mini-batch costs the sum of its targets'
// in-degrees, on disk their bytes. `hub_degree` bounds it: nodes above it draw as
// NeighborSampler's.
#pragma once

#include "samplers/neighbor_sampler.h"

#include <sluice/options.h>
#include <sluice/sampler.h>

#include <cstdint>
#include <vector>

namespace sluice {

struct LaborSamplerOptions {
  std::vector<std::int64_t> fanout{15, 10};  ///< as NeighborSamplerOptions::fanout
  SharedDraws::Count count = SharedDraws::Count::kExact;
  bool weighted = false;        ///< as NeighborSamplerOptions::weighted
  bool share_layers = false;    ///< layers have the same numbers: fewer nodes, related errors
  std::int64_t hub_degree = 0;  ///< nodes of more in-edges draw on their own; 0: none
  std::int64_t dependence = 1;
  bool draw_once = false;  ///< as NeighborSamplerOptions::draw_once
  std::vector<RelationFanout> relations = {};
  SnapshotOptions snapshot = {};

  void describe(Schema& schema);
  std::size_t num_layers() const { return fanout.size(); }
  bool needs_weights() const { return weighted; }
  /// Whole lists: of snapshots only those that hold them.
  std::int64_t most_edges() const { return weighted ? 0 : -1; }
};

class LaborSampler final : public Sampler {
 public:
  using Options = LaborSamplerOptions;

  /// @param key of the run's seed. Throws as NeighborSampler.
  LaborSampler(const SamplerGraph& graph, const Options& options, BlockParts parts, RandomKey key);

  std::size_t num_layers() const override { return sampler_.num_layers(); }
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override {
    return sampler_.sample(request, ledger);
  }
  std::uint64_t workspace_bytes() const override { return sampler_.workspace_bytes(); }
  NeighborSampler* by_hops() override { return &sampler_; }

 private:
  NeighborSampler sampler_;
};

}  // namespace sluice
