// The two questions a sampler asks a topology, batched: by its virtual calls, or past them where it
// is in RAM.
//
// Random reads in RAM cost a cache miss each; asking some way ahead lets many be under way at once.
#pragma once

#include <sluice/error.h>
#include <sluice/topology.h>

#include <cstdint>
#include <span>

namespace sluice {

/// Where the in-edges of `targets` are. As Topology::ranges().
Result<void> locate(Topology& topology,
                    std::span<const std::uint64_t> targets,
                    std::span<EdgeRange> out);

/// Who is at `positions`. As Topology::neighbours().
Result<void> gather(Topology& topology,
                    std::span<const std::uint64_t> positions,
                    std::span<std::uint64_t> out);

}  // namespace sluice
