// ClassLinks: edges between nodes whose class is their number modulo the classes; sources prefer
// their target's class. Each edge a pure function of its number.
#pragma once

#include <sluice/random.h>

#include <cstdint>
#include <utility>

namespace sluice {

struct ClassLinks {
  std::uint64_t sources;  ///< nodes of the source type
  std::uint64_t targets;
  std::uint64_t classes;  ///< at most as many as either type has nodes
  double homophily;       ///< chance that the source is drawn from the target's class
  RandomKey key;

  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t edge) const {
    const RandomKey one = key.with(edge);
    const std::uint64_t target = one.below(targets, 0);
    if (one.uniform(1) >= homophily) return {one.below(sources, 2), target};
    const std::uint64_t own_class = target % classes;
    const std::uint64_t members = (sources - own_class + classes - 1) / classes;
    return {own_class + classes * one.below(members, 2), target};
  }
};

}  // namespace sluice
