// Which relations' edges are kept in memory, where not those of all are. Values: numbers in,
// numbers out. Called by placements.cpp, and by whoever tells a user where relations are.
#pragma once

#include <sluice/dataset.h>
#include <sluice/graph_schema.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A place a relation, by its place in GraphSchema::relations; none: all are in one place.
using RelationPlaces = std::vector<Placement>;

/// What it takes to keep a relation's edges in memory, and what it saves.
struct RelationWorth {
  std::uint64_t bytes = 0;
  double reads = 0;  ///< pages that an epoch would read from disk
};

/// Of each relation. Reads are guessed by the schema alone: for two layers, from the nodes of the
/// splits on, as if each node drew some in-edges of each relation and none were met twice. A node
/// costs a page, or more where its list is long.
std::vector<RelationWorth> worth_of_relations(const GraphSchema& schema);

/// Which of them are kept in `room` bytes: one after the other, most reads a byte first, each that
/// fits beside those before; where a single one saves more, that one is first. So they save at
/// least half of what is possible. @param must those that are kept in any case; one a relation.
/// @return none kept where these alone do not fit
std::vector<bool> relations_to_keep(std::span<const RelationWorth> all,
                                    std::uint64_t room,
                                    const std::vector<bool>& must);

/// Which relations bear one of the names: RelationSchema::key(), or `name` of all that have it.
/// Throws kUsage for a name that none has.
std::vector<bool> relations_named(const GraphSchema& schema, std::span<const std::string> names);

/// "in memory: a__r__b; on disk: b__r__a and 3 more"; empty for none.
std::string relations_text(const GraphSchema& schema, const RelationPlaces& places);

/// "memory" or "disk" by RelationSchema::key(); empty for none.
std::map<std::string, std::string> places_by_key(const GraphSchema& schema,
                                                 const RelationPlaces& places);

/// What a memory table says of bytes that are charged under `name`: "loaded", and of edges where
/// they are. @param relations relations_text()
std::string loaded_note(std::string_view name, const std::string& relations);

/// What a report calls the place of edges: "memory", "disk", or "mixed".
std::string topology_name(Placement topology, const RelationPlaces& places);

}  // namespace sluice
