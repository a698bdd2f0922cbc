// Groups of mini-batches sampled from edges on disk: what they cost in bytes and time.
#pragma once

#include "bench/samplers/sampling.h"

#include <sluice/dataset.h>

#include <cstddef>
#include <cstdint>

namespace sluice::bench {

/// Of one round; times are medians over the rounds.
struct PagedResult {
  std::uint64_t edges = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  TopologyStats read;                 ///< all zero in RAM
  std::uint64_t topology_bytes = 0;   ///< charged by the open topologies
  std::uint64_t workspace_bytes = 0;  ///< of the sampler
};

/// Opens the graph's relations as `options` say and samples the batches of an epoch, a group at a
/// time; a first round is not timed, and fills the cache.
PagedResult run_groups(const BenchGraph& graph,
                       const SamplingWork& work,
                       const TopologyOptions& options);

/// When relations of a hop may read.
enum class Turns { kTogether, kOneByOne };

/// The same of so many relations on disk, each the graph's first with a reader and a cache of its
/// own.
PagedResult run_relations(const BenchGraph& graph,
                          const SamplingWork& work,
                          const TopologyOptions& options,
                          std::size_t relations,
                          Turns turns);

}  // namespace sluice::bench
