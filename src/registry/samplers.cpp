#include "samplers/cluster_sampler.h"
#include "samplers/labor_sampler.h"
#include "samplers/ladies_sampler.h"
#include "samplers/neighbor_sampler.h"
#include "samplers/random_walk_sampler.h"
#include "samplers/subgraph_sampler.h"
#include "samplers/temporal_neighbor_sampler.h"

#include <sluice/registry.h>

namespace sluice {

SamplerCatalog builtin_samplers() {
  SamplerCatalog all("sampler");
  all.add<SamplerKind<NeighborSampler>>(
      "neighbor", "in-edges of each node, hop by hop: uniform or weighted, or all of them");
  all.add<SamplerKind<LaborSampler>>(
      "labor", "as neighbor, but all targets of a layer prefer the same nodes: fewer rows (LABOR)");
  all.add<SamplerKind<LadiesSampler>>(
      "ladies", "so many nodes a layer, those that many targets need rather than others (LADIES)");
  all.add<SamplerKind<SubgraphSampler>>(
      "subgraph", "nodes within some hops of the seeds, and all edges among them");
  all.add<SamplerKind<RandomWalkSampler>>(
      "walk", "nodes on random walks from the seeds, and all edges among them (GraphSAINT)");
  all.add<SamplerKind<ClusterSampler>>(
      "cluster", "whole clusters of close node ids, and all edges within (Cluster-GCN)");
  all.add<SamplerKind<TemporalNeighborSampler>>(
      "temporal", "events before each node's time, hop by hop: the last ones, or a uniform sample");
  return all;
}

}  // namespace sluice
