#include "prep/generate/kg.h"

#include "prep/generate/drawn_edges.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

// A triple of one relation: head's cluster + the relation's step = tail's cluster.
struct Triples {
  std::uint64_t entities;
  std::uint64_t clusters;
  std::uint64_t step;
  double noise;
  RandomKey key;

  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t edge) const {
    const RandomKey one = key.with(edge);
    const std::uint64_t head = skewed(one, 0);
    if (one.uniform(2) < noise) return {head, one.below(entities, 3)};
    const std::uint64_t cluster = (head + step) % clusters;
    const std::uint64_t members = (entities - cluster + clusters - 1) / clusters;
    return {head, cluster + clusters * one.below(members, 4)};
  }

  // The square of a uniform number: the density of an entity falls with the root of its number.
  std::uint64_t skewed(const RandomKey& one, std::uint64_t counter) const {
    return one.below(1 + one.below(entities, counter), counter + 1);
  }
};

}  // namespace

void KgGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("entities", entities).help("number of entities").range(1, 1e12);
  schema.field("relations", relations).help("number of relations").range(1, 1e5);
  schema.field("edges", edges).help("triples drawn, over all relations").range(0, 1e13);
  schema.field("clusters", clusters).help("clusters of entities").range(1, 1e9);
  schema.field("noise", noise).help("share of triples whose tail is any entity").range(0, 1);
}

void KgGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("kg");
  const auto entities = static_cast<std::uint64_t>(options_.entities);
  const auto relations = static_cast<std::uint64_t>(options_.relations);
  const auto edges = static_cast<std::uint64_t>(options_.edges);
  const std::uint64_t clusters = std::min(static_cast<std::uint64_t>(options_.clusters), entities);
  NodeTypeSchema node;
  node.name = "entity";
  node.count = entities;
  writer.schema().nodes.push_back(node);
  for (std::uint64_t r = 0; r < relations; ++r) {
    const RandomKey own = key.with("relation").with(r);
    const Triples draw{
        entities, clusters, own.below(clusters, 0), options_.noise, own.with("edges")};
    RelationSchema relation{.source = "entity", .name = fmt::format("r{}", r), .target = "entity"};
    const std::uint64_t count = edges * (r + 1) / relations - edges * r / relations;
    write_drawn_edges(writer, relation, count, draw, {}, context);
  }
}

}  // namespace sluice
