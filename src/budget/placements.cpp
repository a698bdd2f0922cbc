#include "budget/placements.h"

#include "storage/format/relation_lists.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

std::uint64_t table_bytes(const GraphSchema& schema, const FeatureGroups& groups) {
  std::uint64_t sum = 0;
  for (const FeatureSchema* table : wanted_features(schema, groups))
    sum += table->rows * feature_row_bytes(*table);
  return sum;
}

// Offsets, neighbours, and edge ids where there are any.
std::uint64_t topology_bytes(const GraphSchema& schema) {
  std::uint64_t sum = 0;
  for (const RelationSchema& relation : schema.relations) {
    const NodeTypeSchema* source = schema.node_type(relation.source);
    const std::uint64_t width = source->count <= 0xffffffff ? 4 : 8;
    sum += relation.edges * width +
           RelationLists::of(schema, relation, ListsOf::kTargets).resident_bytes();
  }
  return sum;
}

// The placements to try of one kind of data, best first.
std::vector<Kept> placements(Keep asked, std::uint64_t bytes, std::uint64_t budget) {
  if (asked == Keep::kMemory) return {{Placement::kMemory, "asked for"}};
  if (asked == Keep::kDisk) return {{Placement::kDisk, "asked for"}};
  const std::uint64_t most = budget / memory_ratios::kInMemoryShare;
  const std::string figures =
      fmt::format("{} against half of the budget, {}", format_bytes(bytes), format_bytes(most));
  if (bytes > most) return {{Placement::kDisk, figures}};
  return {{Placement::kMemory, figures},
          {Placement::kDisk, "no room for it beside the rest of the run"}};
}

}  // namespace

bool epochs_may_be_planned(const StorageSection& storage) {
  return storage.cache_kind()->wants_next_uses() || storage.plan == PlanChoice::kRepack;
}

std::vector<PlaceChoice> place_choices(const StorageSection& storage,
                                       const GraphSchema& schema,
                                       const FeatureGroups& groups,
                                       std::uint64_t budget,
                                       Turns turns,
                                       Keep learned,
                                       std::uint64_t learned_bytes) {
  std::vector<Kept> of_rows{{Placement::kMemory, "none are learned"}};
  if (learned_bytes != 0) of_rows = placements(learned, learned_bytes, budget);
  if (learned == Keep::kAuto && of_rows.front().where == Placement::kDisk)
    of_rows.push_back({Placement::kMemory, "each step wants all of them"});
  const std::uint64_t features_bytes = table_bytes(schema, groups);
  std::vector<PlaceChoice> all;
  for (const Kept& embeddings : of_rows) {
    for (const Kept& topology : placements(storage.topology, topology_bytes(schema), budget)) {
      for (const Kept& features : placements(storage.features, features_bytes, budget))
        all.push_back({{features, topology, embeddings}});
    }
  }
  if (turns == Turns::kNever) return all;
  for (std::size_t i = 0, apart = all.size(); i < apart; ++i) {
    PlaceChoice choice = all[i];
    choice.phases = MemoryPhases::taking_turns();
    if (choice.places.features.where == Placement::kDisk) all.push_back(std::move(choice));
  }
  return all;
}

}  // namespace sluice
