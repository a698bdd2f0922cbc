#include "prep/generate/planted_relations.h"

#include "prep/generate/drawn_edges.h"
#include "prep/generate/skewed_draw.h"

#include <fmt/format.h>
#include <sluice/error.h>

#include <algorithm>
#include <memory>
#include <string>

namespace sluice {
namespace {

// By the names that the key `dtype` has.
FeatureDType dtype_named(const std::string& name) {
  FeatureChoice choice;
  Schema schema;
  choice.describe(schema);
  std::string known;
  for (const auto& field : schema.fields()) {
    if (field->key() != "dtype") continue;
    EnumRef& named = *std::get<std::shared_ptr<EnumRef>>(field->target());
    if (named.set(name)) return choice.dtype;
    for (const EnumRef::Value& value : named.values())
      known += (known.empty() ? "" : ", ") + value.name;
  }
  throw Error(ErrorCode::kUsage, fmt::format("dtypes: no dtype '{}'", name), "one of " + known);
}

// What the nodes of a kind are: its width and dtype, where lists say some.
SyntheticNodeOptions nodes_of_kind(std::uint64_t kind,
                                   const PlantedRelationOptions& options,
                                   const SyntheticNodeOptions& node_options) {
  SyntheticNodeOptions made = node_options;
  made.train = 0;  // the split is of items
  if (!options.widths.empty()) made.features = options.widths[kind % options.widths.size()];
  if (!options.dtypes.empty())
    made.storage.dtype = dtype_named(options.dtypes[kind % options.dtypes.size()]);
  return made;
}

}  // namespace

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
  schema.field("widths", widths)
      .help(
          "with relations: features a node of kind0, kind1, ..., and round again; 0: none; empty: "
          "as many as an item")
      .range(0, 1 << 20);
  schema.field("dtypes", dtypes)
      .help(
          "with relations: dtype of the features of kind0, kind1, ..., and round again; empty: "
          "dtype");
  schema.field("skew", skew)
      .help(
          "with relations: how few nodes of a kind have most edges: the share of the k-th of a "
          "class falls as k to the power 1 / skew - 1; 1: all alike")
      .range(1, 8);
}

std::uint64_t PlantedLinks::drawn(std::uint64_t members, RandomKey one) const {
  return skew == 1 ? one.below(members, 2) : skewed_below(members, skew, one.uniform(2));
}

std::pair<std::uint64_t, std::uint64_t> PlantedLinks::operator()(std::uint64_t edge) const {
  const RandomKey one = key.with(edge);
  const std::uint64_t target = one.below(targets, 0);
  if (one.uniform(1) >= homophily) return {drawn(sources, one), target};
  const std::uint64_t of_class = (target % classes + shift) % classes;
  const std::uint64_t members = (sources - of_class + classes - 1) / classes;
  return {of_class + classes * drawn(members, one), target};
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
  SyntheticNodeOptions of_items = node_options;
  of_items.signal = 0;
  write_synthetic_nodes(writer, "item", items, of_items, class_of, key.with("item"), context);
  const auto kind_name = [](std::uint64_t kind) { return fmt::format("kind{}", kind); };
  for (std::uint64_t kind = 0; kind < kinds; ++kind) {
    const std::string name = kind_name(kind);
    write_synthetic_nodes(writer,
                          name,
                          sources,
                          nodes_of_kind(kind, options, node_options),
                          class_of,
                          key.with(name),
                          context);
  }
  const auto edges = static_cast<std::uint64_t>(options.edges);
  for (std::uint64_t r = 0; r < relations; ++r) {
    const PlantedLinks draw{sources,
                            items,
                            classes,
                            planted_shift(r, options, classes),
                            homophily,
                            key.with("edges").with(r),
                            options.skew};
    RelationSchema relation{
        .source = kind_name(r % kinds), .name = fmt::format("r{}", r), .target = "item"};
    const std::uint64_t count = edges / relations + (r < edges % relations ? 1 : 0);
    write_drawn_edges(writer, relation, count, draw, {}, context);
  }
}

}  // namespace sluice
