// Stored negatives: for each event of a part the destinations that it is ranked among, so that
// others rank by the same.
//
// FOLDER/valid.npy and FOLDER/test.npy: i64 [events of the part, k] in NumPy's format, a row an
// event in the order of (time, edge id), of the destinations' dense numbers; -1 where a row has
// fewer.
#pragma once

#include <sluice/array.h>
#include <sluice/edge_rule.h>
#include <sluice/memory.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <string>

namespace sluice::tasks {

/// u64 [events, k], kNoNode where there is none; charged as "negatives". Throws kIo for a file that
/// cannot be read, kData for one of another form or size, and for numbers of no destination, with
/// row and column.
Array read_stored_negatives(const std::string& folder,
                            Part part,
                            std::uint64_t events,
                            std::uint64_t num_destinations,
                            MemoryLedger* ledger);

/// Throws kData where a row has the destination of its own event: a list in another order than that
/// of the events, or one that is not of others. @param negatives as read @param events the part's
void check_beside(const Array& negatives,
                  const std::string& folder,
                  Part part,
                  const Links& events);

}  // namespace sluice::tasks
