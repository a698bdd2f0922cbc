#include "samplers/exclude_edges.h"

#include <sluice/samplers/charged_buffer.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// The pairs of one relation, to be asked whether one of them is there.
class PairSet {
 public:
  Result<void> build(const EdgePairs& pairs, MemoryLedger* ledger) {
    const auto sources = pairs.sources.as<std::uint64_t>();
    const auto targets = pairs.targets.as<std::uint64_t>();
    const std::size_t slots = std::bit_ceil(2 * sources.size() + 2);
    if (auto room = slots_.ensure(slots, ledger); !room) return room;
    mask_ = slots - 1;
    std::ranges::fill(slots_.first(slots), Slot{});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      slots_.data()[place_of(sources[i], targets[i])] = {sources[i], targets[i], true};
    }
    return {};
  }

  bool has(std::uint64_t source, std::uint64_t target) const {
    return slots_.data()[place_of(source, target)].used;
  }

 private:
  struct Slot {
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    bool used = false;
  };

  // The slot of the pair, or the free one where it would go.
  std::size_t place_of(std::uint64_t source, std::uint64_t target) const {
    const std::uint64_t mixed = (source * 0x9e3779b97f4a7c15ull ^ target) * 0xd6e8feb86659fd93ull;
    for (std::size_t at = (mixed ^ mixed >> 32) & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_.data()[at];
      if (!slot.used || (slot.source == source && slot.target == target)) return at;
    }
  }

  ChargedBuffer<Slot> slots_;
  std::size_t mask_ = 0;
};

// A new array of the `kept` elements at the places of `keep`; empty where `all` is.
template <class T>
Result<Array> only(const Array& all, std::span<const std::size_t> keep, MemoryLedger* ledger) {
  if (all.shape().empty()) return Array();
  auto made = Array::make(all.dtype(), {static_cast<std::int64_t>(keep.size())}, ledger, "batches");
  if (!made) return made;
  const auto from = all.as<T>();
  std::ranges::transform(
      keep, made.value().template as<T>().begin(), [&](std::size_t at) { return from[at]; });
  return made;
}

Result<void> exclude(Block& block, const Batch& batch, const PairSet& set, MemoryLedger* ledger) {
  const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
  const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
  const auto offsets = std::as_const(block.offsets).as<std::int64_t>();
  const auto neighbours = std::as_const(block.neighbours).as<std::int32_t>();
  const auto excluded = [&](std::size_t target, std::size_t edge) {
    return set.has(sources[static_cast<std::size_t>(neighbours[edge])], targets[target]);
  };
  const auto num_targets = static_cast<std::size_t>(block.num_targets);
  std::vector<std::size_t> keep;
  keep.reserve(neighbours.size());
  // New arrays: layers may share theirs.
  auto starts = Array::make(DType::kI64, {block.num_targets + 1}, ledger, "batches");
  if (!starts) return std::move(starts).error();
  const auto out = starts.value().as<std::int64_t>();
  for (std::size_t target = 0; target < num_targets; ++target) {
    out[target] = static_cast<std::int64_t>(keep.size());
    for (auto i = offsets[target]; i < offsets[target + 1]; ++i) {
      const auto edge = static_cast<std::size_t>(i);
      if (!excluded(target, edge)) keep.push_back(edge);
    }
  }
  out[num_targets] = static_cast<std::int64_t>(keep.size());
  if (keep.size() == neighbours.size()) return {};

  Block rest = block;
  rest.offsets = std::move(starts).value();
  auto sources_left = only<std::int32_t>(block.neighbours, keep, ledger);
  if (!sources_left) return std::move(sources_left).error();
  rest.neighbours = std::move(sources_left).value();
  auto ids = only<std::uint64_t>(block.edge_ids, keep, ledger);
  if (!ids) return std::move(ids).error();
  rest.edge_ids = std::move(ids).value();
  auto deltas = only<std::int64_t>(block.deltas, keep, ledger);
  if (!deltas) return std::move(deltas).error();
  rest.deltas = std::move(deltas).value();
  block = std::move(rest);
  return {};
}

}  // namespace

Result<void> exclude_edges(Batch& batch,
                           std::span<const EdgePairs> excluded,
                           MemoryLedger* ledger) {
  for (const EdgePairs& pairs : excluded) {
    if (pairs.sources.empty()) continue;
    PairSet set;
    if (auto built = set.build(pairs, ledger); !built) return built;
    for (auto& layer : batch.layers) {
      for (Block& block : layer) {
        if (block.relation != pairs.relation) continue;
        if (auto done = exclude(block, batch, set, ledger); !done) return done;
      }
    }
  }
  return {};
}

}  // namespace sluice
