// Events that a user asks about by a file: who may meet whom when, by the user's own ids.
//
// CSV with a header: source,target,time in any order of columns, others are passed over; where the
// best targets are looked for, target may be missing. Times are whole ticks of the dataset.
#pragma once

#include <sluice/dataset.h>
#include <sluice/memory.h>
#include <sluice/samplers/links.h>

#include <cstddef>
#include <memory>
#include <string>

namespace sluice {

/// Node types of the ends, as indices into GraphSchema::nodes.
struct AskedEnds {
  std::size_t source_type = 0, destination_type = 0;
};

enum class AskedTargets { kGiven, kLookedFor };

/// In the order of time, equal times as in the file; edge ids are 0, below those of all events of
/// the same time. Charged as "events asked about". Throws kIo, and kData for ids and times that
/// cannot be read and nodes that are not there, with line.
std::shared_ptr<const Links> read_asked_events(const std::string& path,
                                               const Dataset& dataset,
                                               AskedEnds ends,
                                               AskedTargets targets,
                                               MemoryLedger* ledger);

}  // namespace sluice
