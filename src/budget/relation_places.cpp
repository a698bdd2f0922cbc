#include "budget/relation_places.h"

#include "core/type_index.h"
#include "storage/format/relation_lists.h"

#include <sluice/dtype.h>
#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace sluice {
namespace {

// What a usual sampler does: in-edges that a node draws of a relation, and how many times.
constexpr double kDrawn = 16;
constexpr int kLayers = 2;

constexpr double kPage = 4096;

// Offsets and neighbours.
std::uint64_t bytes_in_memory(const GraphSchema& schema, const RelationSchema& relation) {
  const std::uint64_t sources = schema.node_type(relation.source)->count;
  return relation.edges * size_of(node_id_dtype(sources)) +
         RelationLists::of(schema, relation, ListsOf::kTargets).resident_bytes();
}

// A relation as a sampler meets it.
struct Met {
  std::size_t source = 0;  // node types
  std::size_t target = 0;
  double has_edges = 0;  // share of its targets, as far as the schema says
  double drawn = 0;      // of one of these
  double pages = 0;      // that hold what one of these draws
};

Met meet(const GraphSchema& schema, const RelationSchema& relation) {
  Met met{type_index(schema, relation.source), type_index(schema, relation.target)};
  const auto targets = static_cast<double>(schema.nodes[met.target].count);
  const auto edges = static_cast<double>(relation.edges);
  const double lists = relation.listed_targets ? static_cast<double>(*relation.listed_targets)
                                               : std::min(targets, edges);
  if (lists == 0 || targets == 0) return met;
  met.has_edges = lists / targets;
  met.drawn = std::min(kDrawn, edges / lists);
  const auto an_edge = static_cast<double>(size_of(node_id_dtype(schema.nodes[met.source].count)));
  met.pages = std::min(met.drawn, 1 + (edges / lists - 1) * an_edge / kPage);
  return met;
}

// Nodes that an epoch asks about, by type: of the splits, else all.
std::vector<double> seeds_of(const GraphSchema& schema) {
  std::vector<double> seeds(schema.nodes.size(), 0);
  const auto add = [&](std::string_view type, std::uint64_t count) {
    seeds[type_index(schema, type)] += static_cast<double>(count);
  };
  for (const SplitSchema& split : schema.splits) add(split.node_type, split.train);
  for (const EdgeSplitSchema& split : schema.edge_splits) {
    const RelationSchema* relation = schema.relation(split.relation);
    if (relation == nullptr) continue;
    add(relation->source, split.train);
    add(relation->target, split.train);
  }
  if (std::ranges::any_of(seeds, [](double count) { return count > 0; })) return seeds;
  for (const NodeTypeSchema& type : schema.nodes) add(type.name, type.count);
  return seeds;
}

// The first few of many.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(names.begin(), names.begin() + kShown, ", "),
                     format_count(names.size() - kShown));
}

// The order that relations are taken in.
std::vector<std::size_t> by_reads_a_byte(std::span<const RelationWorth> all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto density = [&](std::size_t i) {
    return all[i].reads / static_cast<double>(std::max<std::uint64_t>(all[i].bytes, 1));
  };
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    if (density(one) != density(other)) return density(one) > density(other);
    return all[one].bytes < all[other].bytes;
  });
  return order;
}

// What is kept beside `must`, taken in turn.
struct Packing {
  /// @param first one that is taken before all others; the number of all: none
  Packing(std::span<const RelationWorth> all,
          const std::vector<bool>& must,
          std::uint64_t room,
          std::size_t first)
      : kept(must), most(all.size()) {
    std::uint64_t left = room;
    const auto take = [&](std::size_t r) {
      left -= all[r].bytes;
      saved += all[r].reads;
      kept[r] = true;
    };
    if (first != all.size()) take(first);
    for (const std::size_t r : by_reads_a_byte(all)) {
      if (must[r] || all[r].bytes > room) continue;
      if (most == all.size() || all[r].reads > all[most].reads) most = r;
      if (!kept[r] && all[r].bytes <= left) take(r);
    }
  }

  std::vector<bool> kept;
  double saved = 0;
  std::size_t most;  // that saves the most by itself, of those that fit
};

}  // namespace

std::vector<RelationWorth> worth_of_relations(const GraphSchema& schema) {
  std::vector<RelationWorth> worth(schema.relations.size());
  std::vector<Met> met;
  met.reserve(schema.relations.size());
  for (const RelationSchema& relation : schema.relations) met.push_back(meet(schema, relation));
  std::vector<double> asking = seeds_of(schema);
  for (int layer = 0; layer < kLayers; ++layer) {
    std::vector<double> found(asking.size(), 0);
    for (std::size_t r = 0; r < met.size(); ++r) {
      const double lists = asking[met[r].target] * met[r].has_edges;
      worth[r].reads += lists * met[r].pages;
      found[met[r].source] += lists * met[r].drawn;
    }
    asking = std::move(found);
  }
  for (std::size_t r = 0; r < worth.size(); ++r)
    worth[r].bytes = bytes_in_memory(schema, schema.relations[r]);
  return worth;
}

std::vector<bool> relations_to_keep(std::span<const RelationWorth> all,
                                    std::uint64_t room,
                                    const std::vector<bool>& must) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!must[r]) continue;
    if (all[r].bytes > room) return std::vector<bool>(all.size(), false);
    room -= all[r].bytes;
  }
  const Packing in_turn(all, must, room, all.size());
  if (in_turn.most == all.size() || all[in_turn.most].reads <= in_turn.saved) return in_turn.kept;
  return Packing(all, must, room, in_turn.most).kept;
}

std::vector<bool> relations_named(const GraphSchema& schema, std::span<const std::string> names) {
  std::vector<bool> named(schema.relations.size(), false);
  for (const std::string& name : names) {
    bool any = false;
    std::vector<std::string> there;
    for (std::size_t r = 0; r < named.size(); ++r) {
      const RelationSchema& relation = schema.relations[r];
      there.push_back(relation.key());
      if (relation.key() != name && relation.name != name) continue;
      any = named[r] = true;
    }
    if (any) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("'storage.topology_in_memory' names '{}', which is no relation", name),
                "it has: " + some_of(there));
  }
  return named;
}

std::string relations_text(const GraphSchema& schema, const RelationPlaces& places) {
  std::vector<std::string> memory, disk;
  for (std::size_t r = 0; r < places.size(); ++r)
    (places[r] == Placement::kMemory ? memory : disk).push_back(schema.relations.at(r).key());
  if (places.empty()) return "";
  return fmt::format("in memory: {}; on disk: {}", some_of(memory), some_of(disk));
}

std::map<std::string, std::string> places_by_key(const GraphSchema& schema,
                                                 const RelationPlaces& places) {
  std::map<std::string, std::string> by_key;
  for (std::size_t r = 0; r < places.size(); ++r)
    by_key[schema.relations.at(r).key()] = topology_name(places[r], {});
  return by_key;
}

std::string loaded_note(std::string_view name, const std::string& relations) {
  if (name != "topology" || relations.empty()) return "loaded";
  return "loaded, " + relations;
}

std::string topology_name(Placement topology, const RelationPlaces& places) {
  if (!places.empty()) return "mixed";
  return topology == Placement::kMemory ? "memory" : "disk";
}

}  // namespace sluice
