// What lists of other destinations that `sluice-train negatives` wrote are of: `negatives.json`
// beside them says which events, by a hash of each part, and what rows there are. Lists of others
// have none.
//
// Throws Error.
#pragma once

#include <sluice/edge_rule.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace sluice {

/// How lists came about.
struct ListedNegatives {
  std::string relation;    ///< its key
  std::string kind;        ///< "mixed", "random", "all"
  std::string candidates;  ///< "destinations", "nodes"
  std::string created_by;  ///< command and seed
  std::uint64_t columns = 0;
};

/// The events of a part, in order, and of a part with a list the hash of its rows.
struct ListedPart {
  Part part = Part::kTrain;
  std::shared_ptr<const Links> events;  ///< with ids and times
  std::optional<std::uint64_t> rows_xxh3 = std::nullopt;
};

/// Writes it into the folder of the lists. Throws kIo, kResource.
void note_listed(const std::filesystem::path& folder,
                 const ListedNegatives& listed,
                 std::span<const ListedPart> parts);

/// Where the folder has it: throws kData unless lists are of the events of these parts, and have
/// the rows that were written.
void check_listed(const std::filesystem::path& folder, std::span<const ListedPart> parts);

}  // namespace sluice
