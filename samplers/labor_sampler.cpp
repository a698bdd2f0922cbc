#include "samplers/labor_sampler.h"

namespace sluice {
namespace {

constexpr double kMostOfLabor = 0x7fffffff;

NeighborSamplerOptions neighbor_options(const LaborSamplerOptions& options) {
  return {.fanout = options.fanout,
          .weighted = options.weighted,
          .dependence = options.dependence,
          .draw_once = options.draw_once,
          .relations = options.relations};
}

LayerDraws layer_draws(const LaborSamplerOptions& options) {
  return {.count = options.count,
          .hub_degree = static_cast<std::uint64_t>(options.hub_degree),
          .all_layers = options.share_layers};
}

}  // namespace

void LaborSamplerOptions::describe(Schema& schema) {
  using Count = SharedDraws::Count;
  schema.field("fanout", fanout)
      .help(
          "in-edges drawn a node and relation, one number a layer, the first next to the seeds; "
          "-1: all of them, 0: none. All in-edges of a node are looked at, on disk read")
      .unit("edges")
      .range(-1, kMostOfLabor);
  schema
      .choice("count",
              count,
              {{"exact", Count::kExact, "fanout of them, or all that there are"},
               {"poisson",
                Count::kPoisson,
                "fanout in the mean, now and then none (LABOR-0): fewer rows, more noise"}})
      .help("how many of a node's in-edges are drawn");
  schema.field("weighted", weighted)
      .help("draw by the weights of edges, about in proportion, those of weight 0 never");
  schema.field("share_layers", share_layers)
      .help("all layers prefer the same nodes: fewer rows; their errors are no longer independent");
  schema.field("hub_degree", hub_degree)
      .help(
          "nodes of more in-edges of a relation draw on their own, as neighbor's, and are not read "
          "whole; 0: none do")
      .unit("edges")
      .range(0, 9e18);
  schema.field("dependence", dependence)
      .help(
          "mini-batches in which the preferred nodes change to others, little by little: rows are "
          "often there already. Each mini-batch by itself is as before; their errors cancel later")
      .unit("mini-batches")
      .range(1, kMostOfLabor);
  schema.field("draw_once", draw_once)
      .help(
          "a node draws edges at the hop that first lists it, and keeps them in the other layers: "
          "mini-batches are subgraphs, with fewer rows");
  schema.list("relations", relations, "other fanouts for some relations");
  schema.section("snapshot", snapshot, "in-edges of hot nodes kept in memory; mode full alone");
}

LaborSampler::LaborSampler(const SamplerGraph& graph,
                           const Options& options,
                           BlockParts parts,
                           RandomKey key)
    : sampler_(graph, neighbor_options(options), parts, key, layer_draws(options)) {}

}  // namespace sluice
