// The samplers that exist: those of the registry with the options that they come with, and some
// with options of which more follows.
#pragma once

#include "samplers/cluster_sampler.h"
#include "samplers/labor_sampler.h"
#include "samplers/ladies_sampler.h"
#include "samplers/random_walk_sampler.h"
#include "samplers/subgraph_sampler.h"

#include <sluice/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

struct SamplerKind {
  std::string name;
  std::function<std::unique_ptr<Sampler>(const SamplerGraph&, BlockParts, RandomKey)> make;
};

template <class Kind>
SamplerKind sampler_kind(std::string name, typename Kind::Options options) {
  return {
      std::move(name),
      [options = std::move(options)](const SamplerGraph& graph, BlockParts parts, RandomKey key) {
        return std::make_unique<Kind>(graph, options, parts, key);
      }};
}

/// By default, but those that take nodes at times.
inline std::vector<SamplerKind> registered_samplers() {
  std::vector<SamplerKind> kinds;
  const SamplerCatalog catalog = builtin_samplers();
  for (const auto& entry : catalog.list()) {
    const std::shared_ptr<const SamplerMethod> method = catalog.create({entry.name, nullptr});
    if (method->needs_times()) continue;
    kinds.push_back(
        {entry.name, [method](const SamplerGraph& graph, BlockParts parts, RandomKey key) {
           return method->make(graph, parts, key);
         }});
  }
  return kinds;
}

inline std::vector<SamplerKind> sampler_kinds() {
  std::vector<SamplerKind> kinds = registered_samplers();
  kinds.insert(
      kinds.end(),
      {
          sampler_kind<NeighborSampler>("neighbor 4, 3", {{4, 3}}),
          sampler_kind<NeighborSampler>("neighbor, all of one hop", {{-1}}),
          sampler_kind<NeighborSampler>("neighbor, dependent", {.fanout = {4, 3}, .dependence = 3}),
          sampler_kind<NeighborSampler>("neighbor, drawn once",
                                        {.fanout = {4, 3, 2}, .draw_once = true}),
          sampler_kind<LaborSampler>("labor 4, 3", {.fanout = {4, 3}}),
          sampler_kind<LaborSampler>("labor, drawn once", {.fanout = {4, 3}, .draw_once = true}),
          sampler_kind<LaborSampler>("labor by chance, dependent, hubs apart",
                                     {.fanout = {4, 3},
                                      .count = SharedDraws::Count::kPoisson,
                                      .hub_degree = 40,
                                      .dependence = 3}),
          sampler_kind<LadiesSampler>("ladies 20, 10", {{20, 10}}),
          sampler_kind<LadiesSampler>("ladies, more than there are", {{100000}}),
          sampler_kind<RandomWalkSampler>("random walk", {{.length = 4, .walks = 2}, 2}),
          sampler_kind<RandomWalkSampler>("node2vec walk", {{.length = 3, .p = 4, .q = 0.5}, 3}),
          sampler_kind<ClusterSampler>("clusters", {.clusters = 9, .layers = 2}),
          sampler_kind<SubgraphSampler>("subgraph 4, 3", {.fanout = {4, 3}}),
          sampler_kind<SubgraphSampler>("subgraph, all of two hops",
                                        {.fanout = {-1, -1}, .layers = 1}),
          sampler_kind<SubgraphSampler>("subgraph of the seeds", {.fanout = {}, .layers = 3}),
      });
  return kinds;
}

}  // namespace sluice::test
