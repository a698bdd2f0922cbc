// One part of a split, from a file of ids or of a mask: a truth value (or 0 and 1) a row. Private
// to src/prep/import.
#pragma once

#include "prep/import/import_context.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What a split is of.
struct SplitRows {
  const NodeIds& ids;
  const char* what;  ///< "nodes"
  bool ordered;      ///< whether rows in their order say whose they are
};

/// Whether a file is a mask: of bool, or True and False, or 0 and 1 alone, as many as there are
/// rows. What could be ids as well is said, and taken as ids. Throws Error(kData) for a mask that
/// cannot be whose: of another length, or where nothing tells the order.
bool is_mask(ImportContext& context,
             const SplitSpec& split,
             const std::string& file,
             const SplitRows& rows);

/// The rows that are true, ascending. Charged to `charge`. @pre is_mask()
std::vector<std::uint64_t> read_mask(ImportContext& context,
                                     const SplitSpec& split,
                                     const std::string& file,
                                     Charge& charge);

/// The nodes of ids; those that are not there and may be left out are counted in `skipped`.
std::vector<std::uint64_t> read_ids(ImportContext& context,
                                    const SplitSpec& split,
                                    const std::string& file,
                                    const SplitRows& rows,
                                    std::uint64_t& skipped,
                                    Charge& charge);

}  // namespace sluice
