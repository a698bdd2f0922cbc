#include "prep/generate/hetero.h"

#include "prep/generate/class_links.h"
#include "prep/generate/drawn_edges.h"

#include <algorithm>
#include <string>

namespace sluice {
namespace {

struct Relation {
  const char* source;
  const char* name;
  const char* target;
  std::int64_t edges;
};

}  // namespace

void HeteroGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("papers", papers).help("nodes of type paper").range(1, 1e12);
  schema.field("authors", authors).help("nodes of type author").range(1, 1e12);
  schema.field("institutions", institutions)
      .help("nodes of type institution, which have no features")
      .range(1, 1e12);
  schema.field("cites", cites).help("edges from paper to paper").range(0, 1e13);
  schema.field("writes", writes).help("edges from author to paper").range(0, 1e13);
  schema.field("works_at", works_at).help("edges from author to institution").range(0, 1e13);
  schema.field("author_features", author_features)
      .help("features an author; 0: none")
      .range(0, 1 << 20);
  schema.field("homophily", homophily)
      .help(
          "chance that an edge's source is drawn from its target's class, or that of its relation")
      .range(0, 1);
  planted.describe(schema);
  node_options.describe(schema);
}

void HeteroGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("hetero");
  if (options_.planted.relations > 0)
    return write_planted_relations(writer,
                                   options_.planted,
                                   options_.node_options,
                                   options_.homophily,
                                   key.with("planted"),
                                   context);
  const auto fewest = static_cast<std::uint64_t>(
      std::min({options_.papers, options_.authors, options_.institutions}));
  const std::uint64_t classes =
      std::min(static_cast<std::uint64_t>(options_.node_options.classes), fewest);
  const auto add_type =
      [&](const std::string& type, std::int64_t count, const SyntheticNodeOptions& node_options) {
        write_synthetic_nodes(
            writer,
            type,
            static_cast<std::uint64_t>(count),
            node_options,
            [classes](std::uint64_t node) { return static_cast<std::uint32_t>(node % classes); },
            key.with(type),
            context);
      };
  SyntheticNodeOptions others = options_.node_options;
  others.train = 0;  // the split is of papers
  others.features = options_.author_features;
  add_type("paper", options_.papers, options_.node_options);
  add_type("author", options_.authors, others);
  others.features = 0;
  add_type("institution", options_.institutions, others);

  const auto nodes_of = [&](const std::string& type) {
    return writer.schema().node_type(type)->count;
  };
  for (const Relation& each : {Relation{"paper", "cites", "paper", options_.cites},
                               Relation{"author", "writes", "paper", options_.writes},
                               Relation{"author", "works_at", "institution", options_.works_at}}) {
    const std::uint64_t sources = nodes_of(each.source);
    const std::uint64_t targets = nodes_of(each.target);
    const ClassLinks draw{
        sources, targets, classes, options_.homophily, key.with("edges").with(each.name)};
    RelationSchema relation{.source = each.source, .name = each.name, .target = each.target};
    write_drawn_edges(writer, relation, static_cast<std::uint64_t>(each.edges), draw, {}, context);
  }
}

}  // namespace sluice
