// What lists of other destinations that `sluice-train negatives` wrote are of: `negatives.json`
// beside them says which events, by a hash of each part, and what rows there are. Lists of others
// have none.
//
// Both throw Error.
#pragma once

#include "tasks/event_parts.h"

#include <sluice/edge_rule.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace sluice::tasks {

/// How lists came about, and a hash of the rows of each.
struct ListedNegatives {
  std::string relation;    ///< its key
  std::string kind;        ///< "mixed", "random", "all"
  std::string candidates;  ///< "destinations", "nodes"
  std::string created_by;  ///< command and seed
  std::uint64_t columns = 0;
  std::map<Part, std::uint64_t> rows_xxh3{};
};

/// Writes it for lists of these parts into their folder. Throws kIo, kResource.
void note_listed(const std::filesystem::path& folder,
                 const ListedNegatives& listed,
                 const EventParts& parts);

/// Where the folder has it: throws kData unless lists are of the events of these parts, and have
/// the rows that were written. @param rows_xxh3 of the rows that were read
void check_listed(const std::filesystem::path& folder,
                  const std::map<Part, std::uint64_t>& rows_xxh3,
                  const EventParts& parts);

}  // namespace sluice::tasks
