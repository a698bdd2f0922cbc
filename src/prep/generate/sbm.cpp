#include "prep/generate/sbm.h"

#include "prep/generate/class_links.h"
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

  const ClassLinks draw{nodes, nodes, classes, options_.homophily, key.with("edges")};
  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.undirected = options_.undirected;
  write_drawn_edges(
      writer, relation, static_cast<std::uint64_t>(options_.edges), draw, csc, context);
}

}  // namespace sluice
