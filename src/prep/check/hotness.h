// Which nodes of a type are asked for most, and what share of the asking a cache of the hottest
// rows answers. A node is asked for as often as it is the source of an edge: that is how often a
// uniform sampler over all targets meets it.
#pragma once

#include "prep/order/node_order.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct HotNode {
  std::uint64_t node = 0;
  std::uint64_t out_degree = 0;
};

struct HotRowsCache {
  double share = 0;         ///< of the rows
  std::uint64_t bytes = 0;  ///< of those rows, as stored
  double answered = 0;      ///< share of all edges whose source is among them
};

struct Hotness {
  std::string node_type;
  std::vector<HotNode> hottest;  ///< ten at most
  std::vector<HotRowsCache> caches;
};

/// Streams the relations whose source is the type; two numbers a node of memory.
Hotness measure_hotness(const OrderInput& input);

std::string to_text(const Hotness& hotness);

}  // namespace sluice
