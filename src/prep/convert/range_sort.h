// The second pass of the conversion: one range's records, in input order, become its targets'
// in-edges by a stable counting sort. Private to the converter.
#pragma once

#include "prep/convert/csc_sink.h"
#include "prep/convert/range_store.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A range on its way out.
struct RangeTask {
  std::uint64_t first_target = 0;
  std::uint64_t targets = 0;
  std::uint64_t first_edge = 0;    ///< of the room
  std::uint64_t edges_before = 0;  ///< the room's own first edge
  std::vector<RecordRun> runs;     ///< fewer than 2^32 records
  bool add_loops = false;          ///< each target's last in-edge is itself, with loop_ids + target
  std::uint64_t loop_ids = 0;
};

/// Sorts a range into `room`. Thread-safe.
void sort_range(const RangeTask& task,
                const EdgeRecord& record,
                const CscSink& sink,
                const CscRoom& room,
                std::uint64_t first_target_of_room);

/// In-edges of each target of the range whose records the runs are: adds to `counts` [targets].
void count_targets(std::span<const RecordRun> runs,
                   const EdgeRecord& record,
                   std::span<std::uint64_t> counts);

/// Places the records of targets [first, last) of a range: record by record at `next[target -
/// first]++` of the room. For ranges that are converted piece by piece.
void place_some(std::span<const RecordRun> runs,
                const EdgeRecord& record,
                std::uint64_t first,
                std::uint64_t last,
                std::span<std::uint64_t> next,
                const CscSink& sink,
                const CscRoom& room);

}  // namespace sluice
