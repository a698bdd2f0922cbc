// Caches of a run's tables on disk, of features and of learned rows: what they share memory by
// where [storage] cache says that all do, and what each got. Used by one thread. Throws Error.
#pragma once

#include "budget/memory_plan.h"
#include "storage/io/disk_profile.h"
#include "train/parts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Memory that measure_caches() takes meanwhile; 0: learned rows share with no other table.
std::uint64_t counting_bytes(Parts& parts);

/// Counts how often the rows of all tables on disk are used, a pass over the edges a node type, and
/// prices their misses. Lets go of the caches of features. No loader may be alive. @param needs of
/// the parts: rows that mini-batches ask for @param access kRead: learned rows are not trained
SharedCaches measure_caches(Parts& parts,
                            const MemoryNeeds& needs,
                            const DiskProfile& disk,
                            TableAccess access);

/// Of a table on disk.
struct TableCache {
  std::string table;        ///< node type or relation, and the group of features if need be
  const char* of = "";      ///< "features", "learned rows", "rows of state"
  std::uint64_t rows = 0;   ///< of the table
  std::uint64_t slots = 0;  ///< rows that the cache has room for
  std::uint64_t bytes = 0;  ///< that it takes
};

/// Those of features once a loader has started.
std::vector<TableCache> table_caches(Parts& parts);

}  // namespace sluice
