#include "prep/generate/sbm.h"

#include "prep/generate/drawn_edges.h"

namespace sluice {

void SbmGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("nodes", nodes).help("number of nodes").range(1, 1e12);
  schema.field("edges", edges).help("number of edges drawn").range(0, 1e13);
  schema.field("homophily", homophily)
      .help("chance that an edge's source is drawn from its target's class")
      .range(0, 1);
  schema.field("undirected", undirected).help("store each edge both ways");
  node_options.describe(schema);
}

void SbmGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("sbm");
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  const std::uint64_t classes =
      std::min(static_cast<std::uint64_t>(options_.node_options.classes), nodes);
  write_synthetic_nodes(
      writer,
      "node",
      nodes,
      options_.node_options,
      [classes](std::uint64_t node) { return static_cast<std::uint32_t>(node % classes); },
      key,
      context);

  const double homophily = options_.homophily;
  const RandomKey edge_key = key.with("edges");
  const auto draw = [=](std::uint64_t edge) -> std::pair<std::uint64_t, std::uint64_t> {
    const RandomKey one = edge_key.with(edge);
    const std::uint64_t target = one.below(nodes, 0);
    if (one.uniform(1) >= homophily) return {one.below(nodes, 2), target};
    const std::uint64_t own_class = target % classes;
    const std::uint64_t members = (nodes - own_class + classes - 1) / classes;
    return {own_class + classes * one.below(members, 2), target};
  };
  DrawnEdges edges(static_cast<std::uint64_t>(options_.edges), draw, context);
  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.undirected = options_.undirected;
  build_csc(writer, relation, nodes, nodes, edges, csc, context.arena);
  writer.schema().relations.push_back(relation);
}

}  // namespace sluice
