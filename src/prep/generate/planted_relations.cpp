#include "prep/generate/planted_relations.h"

#include "prep/generate/drawn_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice {

void PlantedRelationOptions::describe(Schema& schema) {
  schema.field("relations", relations)
      .help(
          "0: papers, authors and institutions; else so many relations, r0, r1, ..., from kinds of "
          "nodes to items, whose labels show by the relation alone")
      .range(0, 1e4);
  schema.field("kinds", kinds)
      .help("with relations: node types kind0, kind1, ...; relations go round them")
      .range(1, 1e4);
  schema.field("items", items).help("with relations: nodes of type item").range(1, 1e12);
  schema.field("sources", sources).help("with relations: nodes of each kind").range(1, 1e12);
  schema.field("edges", edges).help("with relations: edges of all of them").range(0, 1e13);
}

std::pair<std::uint64_t, std::uint64_t> PlantedLinks::operator()(std::uint64_t edge) const {
  const RandomKey one = key.with(edge);
  const std::uint64_t target = one.below(targets, 0);
  if (one.uniform(1) >= homophily) return {one.below(sources, 2), target};
  const std::uint64_t of_class = (target % classes + shift) % classes;
  const std::uint64_t members = (sources - of_class + classes - 1) / classes;
  return {of_class + classes * one.below(members, 2), target};
}

std::uint64_t planted_shift(std::uint64_t relation,
                            const PlantedRelationOptions& options,
                            std::uint64_t classes) {
  const auto relations = static_cast<std::uint64_t>(options.relations);
  const std::uint64_t kinds = std::min(static_cast<std::uint64_t>(options.kinds), relations);
  const std::uint64_t of_kind = (relations - relation % kinds + kinds - 1) / kinds;
  return relation / kinds * classes / of_kind;
}

void write_planted_relations(DatasetWriter& writer,
                             const PlantedRelationOptions& options,
                             const SyntheticNodeOptions& node_options,
                             double homophily,
                             RandomKey key,
                             PrepContext& context) {
  const auto items = static_cast<std::uint64_t>(options.items);
  const auto sources = static_cast<std::uint64_t>(options.sources);
  const auto relations = static_cast<std::uint64_t>(options.relations);
  // A kind without a relation would stand apart.
  const std::uint64_t kinds = std::min(static_cast<std::uint64_t>(options.kinds), relations);
  const std::uint64_t classes =
      std::min({static_cast<std::uint64_t>(node_options.classes), items, sources});
  const ClassOf class_of = [classes](std::uint64_t node) {
    return static_cast<std::uint32_t>(node % classes);
  };
  SyntheticNodeOptions of_items = node_options, of_kinds = node_options;
  of_items.signal = 0;
  of_kinds.train = 0;  // the split is of items
  write_synthetic_nodes(writer, "item", items, of_items, class_of, key.with("item"), context);
  const auto kind_name = [](std::uint64_t kind) { return fmt::format("kind{}", kind); };
  for (std::uint64_t kind = 0; kind < kinds; ++kind) {
    const std::string name = kind_name(kind);
    write_synthetic_nodes(writer, name, sources, of_kinds, class_of, key.with(name), context);
  }
  const auto edges = static_cast<std::uint64_t>(options.edges);
  for (std::uint64_t r = 0; r < relations; ++r) {
    const PlantedLinks draw{sources,
                            items,
                            classes,
                            planted_shift(r, options, classes),
                            homophily,
                            key.with("edges").with(r)};
    RelationSchema relation{
        .source = kind_name(r % kinds), .name = fmt::format("r{}", r), .target = "item"};
    const std::uint64_t count = edges / relations + (r < edges % relations ? 1 : 0);
    write_drawn_edges(writer, relation, count, draw, {}, context);
  }
}

}  // namespace sluice
