// Pairs of nodes that may become links: which part each belongs to, and those without an edge.
//
// A pair within one node type is the same either way round: the lower number comes first.
#pragma once

#include <sluice/memory.h>
#include <sluice/random.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sluice {

using NodePair = std::pair<std::uint64_t, std::uint64_t>;

enum class PairEnds {
  kOneType,  ///< (a, b) is (b, a)
  kTwoTypes  ///< (source, destination)
};

enum class PairPart { kTrain, kValid, kTest };

/// A function of a pair and a key. Immutable, thread-safe.
class NodePairParts {
 public:
  NodePairParts(PairEnds ends, double valid, double test, RandomKey key)
      : ends_(ends), valid_(valid), test_(test), key_(key) {}

  NodePair pair(std::uint64_t source, std::uint64_t destination) const {
    if (ends_ == PairEnds::kOneType && destination < source) return {destination, source};
    return {source, destination};
  }
  /// A node with itself is always trained on.
  PairPart of(const NodePair& pair) const {
    if (ends_ == PairEnds::kOneType && pair.first == pair.second) return PairPart::kTrain;
    const double drawn = key_.with(pair.first).with(pair.second).uniform(0);
    if (drawn < test_) return PairPart::kTest;
    return drawn < test_ + valid_ ? PairPart::kValid : PairPart::kTrain;
  }
  PairEnds ends() const { return ends_; }

 private:
  PairEnds ends_;
  double valid_, test_;
  RandomKey key_;
};

/// Pairs, charged as they grow.
class ChargedPairs {
 public:
  explicit ChargedPairs(MemoryLedger& ledger);
  /// Throws kResource.
  void add(const NodePair& pair);
  void sort_and_drop_repeats();
  const std::vector<NodePair>& all() const { return pairs_; }
  /// @pre sorted
  bool has(const NodePair& pair) const;

 private:
  Charge charge_;
  std::vector<NodePair> pairs_;
};

/// Calls the visitor with each edge's pair, in any order, repeats included.
using PairPass = std::function<void(const std::function<void(const NodePair&)>&)>;

struct NodeCounts {
  std::uint64_t sources = 0, destinations = 0;
};

/// `count` distinct pairs that no edge links, uniform, in the order of their draws; within one type
/// no node with itself. Goes over the edges once where few draws are edges, else some times. Throws
/// kData where so many are not found.
std::vector<NodePair> draw_pairs_without_edges(const NodePairParts& parts,
                                               const NodeCounts& nodes,
                                               std::uint64_t count,
                                               RandomKey key,
                                               const PairPass& edges,
                                               MemoryLedger& ledger);

}  // namespace sluice
