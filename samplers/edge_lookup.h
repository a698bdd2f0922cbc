// EdgeLookup: which of many pairs of nodes are edges of a relation.
//
// In-edge lists are in no order that could be searched (they keep the input's, or time's), so each
// target asked about is gone through once, whatever the number of its pairs: a call costs the sum
// of the distinct targets' in-degrees. Keeps its scratch. Not thread-safe.
#pragma once

#include <sluice/error.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/edge_scan.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class EdgeLookup {
 public:
  /// Sets found[i] where an edge leads from sources[i] to targets[i]; leaves the others as they
  /// are. Pairs may repeat. `ledger` must be the same at each call. Errors: kResource, and what the
  /// topology fails with. @pre spans of one size, below 2^32; nodes of the relation's types
  Result<void> find(Topology& topology,
                    std::span<const std::uint64_t> sources,
                    std::span<const std::uint64_t> targets,
                    std::span<std::uint8_t> found,
                    MemoryLedger* ledger);
  std::uint64_t workspace_bytes() const { return workspace_of(pairs_, targets_, firsts_, scan_); }

 private:
  struct Pair {
    std::uint64_t target;
    std::uint64_t source;
    std::uint32_t place;  // in the caller's spans
  };

  Result<void> sort_pairs(std::span<const std::uint64_t> sources,
                          std::span<const std::uint64_t> targets,
                          MemoryLedger* ledger);
  void mark(const EdgeScan::Piece& piece, std::span<std::uint8_t> found) const;

  ChargedBuffer<Pair> pairs_;             // by target, then source
  ChargedBuffer<std::uint64_t> targets_;  // distinct
  ChargedBuffer<std::uint32_t> firsts_;   // of each target: its first pair, and one past the last
  std::size_t num_pairs_ = 0;
  std::size_t num_targets_ = 0;
  EdgeScan scan_;
};

}  // namespace sluice
