// A target range that is too large to be converted in one piece (a hub, or too little memory for
// the graph): its records are gone through once to count, and then once for each group of targets
// that fits. A single target that does not fit streams through: it is in order already. Private to
// the converter.
#pragma once

#include "prep/convert/converter.h"

#include <cstdint>
#include <functional>
#include <span>

namespace sluice {

struct LoneRange {
  const ConvertOptions& options;
  RangeStore& store;
  std::uint64_t range;
  std::uint64_t first_target;
  std::uint64_t targets;
  std::uint64_t edges_read;    ///< of the stream: ids of added loops begin there
  std::uint64_t edges_before;  ///< the sink has
};

struct LoneRangeOutput {
  std::uint64_t edges = 0;
  std::uint64_t duplicates_dropped = 0;
};

/// @param on_ends is shown the ends of all targets, in order
LoneRangeOutput convert_lone_range(
    const LoneRange& range,
    std::uint64_t memory_bytes,
    CscSink& sink,
    MemoryLedger* ledger,
    const OnDuplicate& on_duplicate,
    const std::function<void(std::span<const std::uint64_t>)>& on_ends);

}  // namespace sluice
