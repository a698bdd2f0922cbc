#include "samplers/in_buffer_topology.h"

#include "samplers/topology_access.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

// Edges that are looked at together: enough that a topology on disk has reads to merge.
constexpr std::size_t kLookedAtOnce = std::size_t{1} << 16;

}  // namespace

InBufferTopology::InBufferTopology(std::shared_ptr<Topology> base, std::uint64_t each)
    : base_(std::move(base)), each_(std::max<std::uint64_t>(each, 1)) {}

void InBufferTopology::begin(const std::vector<std::uint8_t>& here, MemoryLedger* ledger) {
  here_ = &here;
  kept_ = 0;
  num_lists_ = 0;
  if (ledger == ledger_) return;
  lists_ = {};  // charged to the old one
  positions_ = {};
  sources_ = {};
  asked_ = {};
  ledger_ = ledger;
}

// Calls `use` with a place and how many edges there are to be looked at from there, list by list,
// kLookedAtOnce edges in all at the most; returns where the rest begins.
template <class Use>
InBufferTopology::Place InBufferTopology::for_each_stretch(Place place, Use use) const {
  std::uint64_t left = kLookedAtOnce;
  const auto lists = lists_.first(num_lists_);
  while (place.list < lists.size()) {
    const std::uint64_t degree = lists[place.list].degree();
    const std::uint64_t count = std::min(degree - place.behind, left);
    use(place, count);
    left -= count;
    place.behind += count;
    if (place.behind < degree) break;
    place = {place.list + 1, 0};
  }
  return place;
}

// A piece: where its edges are, who is there, and of these the resident ones, which move together.
Result<InBufferTopology::Place> InBufferTopology::look(Place from, std::span<EdgeRange> out) {
  const std::size_t room = kept_ + kLookedAtOnce;
  if (auto made = positions_.grow(room, kept_, ledger_); !made) return std::move(made).error();
  if (auto made = sources_.grow(room, kept_, ledger_); !made) return std::move(made).error();
  std::uint64_t* const positions = positions_.data();
  std::uint64_t* const sources = sources_.data();
  const std::size_t begin = kept_;
  std::size_t end = begin;
  const Place next = for_each_stretch(from, [&](const Place& at, std::uint64_t count) {
    const std::uint64_t first = lists_.data()[at.list].begin + at.behind;
    std::iota(positions + end, positions + end + count, first);
    end += count;
  });
  auto found =
      gather(*base_, {positions + begin, end - begin}, std::span(sources + begin, end - begin));
  if (!found) return std::move(found).error();
  std::size_t looked = begin;
  (void)for_each_stretch(from, [&](const Place& at, std::uint64_t count) {
    if (at.behind == 0) out[at.list].begin = kept_;
    for (const std::size_t last = looked + count; looked < last; ++looked) {
      if (!is_here(sources[looked])) continue;
      positions[kept_] = positions[looked];
      sources[kept_++] = sources[looked];
    }
    out[at.list].end = kept_;
  });
  return next;
}

Result<void> InBufferTopology::ranges(std::span<const std::uint64_t> targets,
                                      std::span<EdgeRange> out) {
  if (auto room = lists_.ensure(targets.size(), ledger_); !room) return room;
  num_lists_ = targets.size();
  if (auto located = locate(*base_, targets, lists_.first(num_lists_)); !located) return located;
  for (Place place; place.list < num_lists_;) {
    auto next = look(place, out);
    if (!next) return std::move(next).error();
    place = next.value();
  }
  return {};
}

Result<void> InBufferTopology::neighbours(std::span<const std::uint64_t> positions,
                                          std::span<std::uint64_t> out) {
  const std::uint64_t* const sources = sources_.data();
  std::ranges::transform(
      positions, out.begin(), [sources](std::uint64_t position) { return sources[position]; });
  return {};
}

Result<void> InBufferTopology::edge_ids(std::span<const std::uint64_t> positions,
                                        std::span<std::uint64_t> out) {
  if (auto room = asked_.ensure(positions.size(), ledger_); !room) return room;
  const auto asked = asked_.first(positions.size());
  const std::uint64_t* const kept = positions_.data();
  std::ranges::transform(
      positions, asked.begin(), [kept](std::uint64_t position) { return kept[position]; });
  return base_->edge_ids(asked, out);
}

}  // namespace sluice
