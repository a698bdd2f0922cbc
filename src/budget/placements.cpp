#include "budget/placements.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace sluice {
namespace {

std::uint64_t table_bytes(const GraphSchema& schema, const FeatureGroups& groups) {
  std::uint64_t sum = 0;
  for (const FeatureSchema* table : wanted_features(schema, groups))
    sum += table->rows * feature_row_bytes(*table);
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

// A way to keep edges.
struct EdgePlaces {
  Kept kept;
  RelationPlaces relations;
};

// In memory those of the relations that are marked.
EdgePlaces edges_by_relation(const GraphSchema& schema,
                             const std::vector<bool>& in_memory,
                             const std::string& why) {
  const auto kept = std::ranges::count(in_memory, true);
  if (kept == 0) return {{Placement::kDisk, why}, {}};
  if (kept == std::ssize(in_memory)) return {{Placement::kMemory, why}, {}};
  RelationPlaces places;
  for (const bool memory : in_memory)
    places.push_back(memory ? Placement::kMemory : Placement::kDisk);
  std::string told = fmt::format("{}; {}", why, relations_text(schema, places));
  return {{Placement::kDisk, std::move(told)}, std::move(places)};
}

// Those that a mixed placement has in memory: as are asked for, and as cannot be read from disk.
std::vector<bool> kept_anyway(const GraphSchema& schema, std::vector<bool> named) {
  for (std::size_t r = 0; r < named.size(); ++r)
    if (schema.relations[r].appended != 0) named[r] = true;
  return named;
}

// The placements of edges to try, best first.
std::vector<EdgePlaces> edge_placements(const StorageSection& storage,
                                        const GraphSchema& schema,
                                        std::uint64_t budget) {
  const std::vector<bool> named = relations_named(schema, storage.topology_in_memory);
  if (storage.topology == Keep::kMemory) return {{{Placement::kMemory, "asked for"}, {}}};
  if (storage.topology == Keep::kDisk) return {edges_by_relation(schema, named, "asked for")};
  const std::vector<RelationWorth> worth = worth_of_relations(schema);
  std::uint64_t bytes = 0;
  for (const RelationWorth& each : worth) bytes += each.bytes;
  std::vector<Kept> whole = placements(Keep::kAuto, bytes, budget);
  Kept disk = std::move(whole.back());
  whole.pop_back();
  std::vector<EdgePlaces> all;
  const auto add = [&](EdgePlaces places) {
    const bool known = std::ranges::any_of(all, [&](const EdgePlaces& other) {
      return other.kept.where == places.kept.where && other.relations == places.relations;
    });
    if (!known) all.push_back(std::move(places));
  };
  for (Kept& memory : whole) add({std::move(memory), {}});
  const std::string why =
      fmt::format("those of all relations take {}, which a budget of {} has no room for",
                  format_bytes(bytes),
                  format_bytes(budget));
  for (const std::uint64_t share :
       {memory_ratios::kInMemoryShare, memory_ratios::kFewInMemoryShare}) {
    EdgePlaces some = edges_by_relation(
        schema, relations_to_keep(worth, budget / share, kept_anyway(schema, named)), why);
    if (!some.relations.empty()) add(std::move(some));
  }
  add(edges_by_relation(schema, kept_anyway(schema, named), disk.why));
  return all;
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
    for (const EdgePlaces& edges : edge_placements(storage, schema, budget)) {
      for (const Kept& features : placements(storage.features, features_bytes, budget))
        all.push_back({{features, edges.kept, embeddings, edges.relations}});
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
