#include "samplers/edge_lookup.h"

#include <algorithm>
#include <tuple>

namespace sluice {

Result<void> EdgeLookup::find(Topology& topology,
                              std::span<const std::uint64_t> sources,
                              std::span<const std::uint64_t> targets,
                              std::span<std::uint8_t> found,
                              MemoryLedger* ledger) {
  if (targets.empty()) return {};
  if (auto sorted = sort_pairs(sources, targets, ledger); !sorted) return sorted;
  const EdgeScan::Request request{.topology = &topology, .targets = targets_.first(num_targets_)};
  if (auto begun = scan_.begin(request, ledger); !begun) return begun;
  while (true) {
    auto piece = scan_.next();
    if (!piece) return std::move(piece).error();
    if (piece.value().empty()) return {};
    mark(piece.value(), found);
  }
}

Result<void> EdgeLookup::sort_pairs(std::span<const std::uint64_t> sources,
                                    std::span<const std::uint64_t> targets,
                                    MemoryLedger* ledger) {
  num_pairs_ = targets.size();
  if (auto room = pairs_.ensure(num_pairs_, ledger); !room) return room;
  if (auto room = targets_.ensure(num_pairs_, ledger); !room) return room;
  if (auto room = firsts_.ensure(num_pairs_ + 1, ledger); !room) return room;
  const auto pairs = pairs_.first(num_pairs_);
  for (std::size_t i = 0; i < num_pairs_; ++i)
    pairs[i] = {targets[i], sources[i], static_cast<std::uint32_t>(i)};
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.target, a.source) < std::tie(b.target, b.source);
  });
  num_targets_ = 0;
  for (std::size_t i = 0; i < num_pairs_; ++i) {
    if (i != 0 && pairs[i].target == pairs[i - 1].target) continue;
    targets_.data()[num_targets_] = pairs[i].target;
    firsts_.data()[num_targets_++] = static_cast<std::uint32_t>(i);
  }
  firsts_.data()[num_targets_] = static_cast<std::uint32_t>(num_pairs_);
  return {};
}

void EdgeLookup::mark(const EdgeScan::Piece& piece, std::span<std::uint8_t> found) const {
  const Pair* const pairs = pairs_.data();
  for (std::size_t i = 0; i < piece.sources.size(); ++i) {
    const std::uint64_t source = piece.sources[i];
    const Pair* const end = pairs + firsts_.data()[piece.targets[i] + 1];
    const Pair* at = std::lower_bound(
        pairs + firsts_.data()[piece.targets[i]],
        end,
        source,
        [](const Pair& pair, std::uint64_t wanted) { return pair.source < wanted; });
    for (; at != end && at->source == source; ++at) found[at->place] = 1;
  }
}

}  // namespace sluice
