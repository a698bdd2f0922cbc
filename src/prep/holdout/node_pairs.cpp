#include "prep/holdout/node_pairs.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

constexpr const char* kPairsLedger = "held-out pairs";

// A pair that was drawn, and when.
struct DrawnPair {
  NodePair pair;
  std::uint64_t draw = 0;
  bool taken = false;  // it is an edge, or was drawn before
};

}  // namespace

ChargedPairs::ChargedPairs(MemoryLedger& ledger)
    : charge_(ledger.charge(kPairsLedger, 0).or_throw()) {}

void ChargedPairs::add(const NodePair& pair) {
  if (pairs_.size() == pairs_.capacity()) {
    const std::size_t room = std::max<std::size_t>(1024, pairs_.capacity() * 2);
    // Old and new lie there together while one becomes the other.
    charge_.resize((room + pairs_.capacity()) * sizeof(NodePair)).or_throw();
    pairs_.reserve(room);
    charge_.resize(room * sizeof(NodePair)).or_throw();
  }
  pairs_.push_back(pair);
}

void ChargedPairs::sort_and_drop_repeats() {
  std::ranges::sort(pairs_);
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
}

bool ChargedPairs::has(const NodePair& pair) const {
  return std::ranges::binary_search(pairs_, pair);
}

std::vector<NodePair> draw_pairs_without_edges(const NodePairParts& parts,
                                               const NodeCounts& nodes,
                                               std::uint64_t count,
                                               RandomKey key,
                                               const PairPass& edges,
                                               MemoryLedger& ledger) {
  constexpr int kRounds = 32;
  const Charge charge =
      ledger.charge(kPairsLedger, count * (2 * sizeof(NodePair) + 2 * sizeof(DrawnPair)) + 4096)
          .or_throw();
  std::vector<NodePair> found;
  found.reserve(count);  // what grows by itself would take more than is charged
  std::uint64_t next = 0;
  for (int round = 0; found.size() < count && round < kRounds; ++round) {
    std::vector<NodePair> before = found;
    std::ranges::sort(before);
    const std::uint64_t missing = count - found.size(), draws = missing + missing / 16 + 16;
    std::vector<DrawnPair> drawn;
    drawn.reserve(draws);
    for (std::uint64_t i = 0; i < draws; ++i, ++next) {
      const NodePair pair = parts.pair(key.below(nodes.sources, 2 * next),
                                       key.below(nodes.destinations, 2 * next + 1));
      if (parts.ends() == PairEnds::kOneType && pair.first == pair.second) continue;
      drawn.push_back({pair, next, std::ranges::binary_search(before, pair)});
    }
    std::ranges::sort(drawn, [](const DrawnPair& a, const DrawnPair& b) {
      return std::pair(a.pair, a.draw) < std::pair(b.pair, b.draw);
    });
    for (std::size_t i = 1; i < drawn.size(); ++i)
      if (drawn[i].pair == drawn[i - 1].pair) drawn[i].taken = true;
    edges([&drawn](const NodePair& pair) {
      const auto at = std::ranges::lower_bound(drawn, pair, {}, &DrawnPair::pair);
      if (at != drawn.end() && at->pair == pair) at->taken = true;
    });
    std::ranges::sort(drawn, {}, &DrawnPair::draw);
    for (const DrawnPair& one : drawn)
      if (!one.taken && found.size() < count) found.push_back(one.pair);
  }
  if (found.size() == count) return found;
  throw Error(ErrorCode::kData,
              fmt::format("found {} of {} pairs of nodes without an edge", found.size(), count),
              "nearly all nodes are linked: hold out a smaller share");
}

}  // namespace sluice
