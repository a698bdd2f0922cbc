// Offsets of all targets of a relation in memory, for benchmarks and peers that know no other
// layout.
#pragma once

#include <sluice/topology.h>

#include <cstdint>
#include <vector>

namespace sluice::bench {

/// num_targets() + 1: where each target's in-edges begin, also where the relation lists the few
/// that have some. @pre the topology is resident, and nothing was appended to it
inline std::vector<std::uint64_t> all_offsets(const Topology& topology) {
  const CscView& csc = *topology.resident();
  std::vector<std::uint64_t> offsets(topology.num_targets() + 1, topology.num_edges());
  for (std::uint64_t target = 0; target + 1 < offsets.size(); ++target)
    offsets[target] = csc.range(target).begin;
  return offsets;
}

}  // namespace sluice::bench
