// PlainGraph: who is beside whom among the nodes of one type: edges of all its own relations, both
// ways, each pair once, no self loops. What floors, groups of nodes and pairs of links go by.
//
// In memory: 8 bytes an edge and node, twice the 4 bytes of an edge while it is made; charged as
// "probe graph". Immutable, thread-safe.
#pragma once

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace sluice::probe {

class PlainGraph {
 public:
  /// Calls the visitor with both ends of each edge, in any order and direction; a graph asks twice
  /// for the same edges.
  using Visitor = std::function<void(std::uint64_t, std::uint64_t)>;
  using Edges = std::function<void(const Visitor&)>;

  /// Throws kResource; kUsage for 2^32 nodes or more.
  PlainGraph(std::uint64_t nodes, const Edges& edges, MemoryLedger* ledger);
  /// Of a dataset, appended edges included. Throws Error.
  static PlainGraph of(const Dataset& dataset, std::string_view node_type);

  std::uint64_t nodes() const { return static_cast<std::uint64_t>(offsets_.numel() - 1); }
  /// Pairs of nodes that are linked.
  std::uint64_t pairs() const { return offsets_.as<std::uint64_t>().back() / 2; }
  std::uint64_t degree(std::uint64_t node) const { return neighbours(node).size(); }
  /// Ascending.
  std::span<const std::uint32_t> neighbours(std::uint64_t node) const;
  bool linked(std::uint64_t a, std::uint64_t b) const;

 private:
  Array offsets_;     // u64 [nodes + 1]
  Array neighbours_;  // u32, room for lists before repeats left them
};

}  // namespace sluice::probe
