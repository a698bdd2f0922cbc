#include "samplers/mixed_negatives.h"

#include <sluice/no_node.h>

#include <algorithm>
#include <unordered_set>

namespace sluice {
namespace {

// `count` of the numbers below `size`, no two the same (Floyd). @pre count <= size
std::vector<std::uint64_t> distinct_below(std::uint64_t size, std::uint64_t count, RandomKey key) {
  std::vector<std::uint64_t> chosen;
  std::unordered_set<std::uint64_t> taken;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t last = size - count + i;
    const std::uint64_t drawn = key.below(last + 1, i);
    chosen.push_back(taken.contains(drawn) ? last : drawn);
    taken.insert(chosen.back());
  }
  return chosen;
}

// Where the candidates that are barred stand among all, ascending.
std::vector<std::uint64_t> places_of(std::span<const std::uint64_t> barred,
                                     std::span<const std::uint64_t> candidates) {
  std::vector<std::uint64_t> places;
  for (const std::uint64_t node : barred) {
    const auto found = std::ranges::lower_bound(candidates, node);
    if (found != candidates.end() && *found == node)
      places.push_back(static_cast<std::uint64_t>(found - candidates.begin()));
  }
  return places;
}

// The place of the one that has `number` before it that are not barred, and is not either.
std::uint64_t place_beside(std::uint64_t number, std::span<const std::uint64_t> barred_places) {
  std::uint64_t low = 0, high = barred_places.size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (barred_places[middle] - middle <= number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return number + low;
}

}  // namespace

Result<MixedNegatives> MixedNegatives::make(const TemporalGraph& graph,
                                            std::uint64_t num_sources,
                                            std::int64_t training_end,
                                            ThreadArena& arena,
                                            MemoryLedger* ledger) {
  auto history = PairHistory::make(graph, num_sources, arena, ledger);
  if (!history) return std::move(history).error();
  return MixedNegatives(std::move(history).value(), training_end);
}

MixedNegatives::Met MixedNegatives::met_by(const Event& event) const {
  Met met;
  bool own_is_there = false;
  std::span<const PairEvent> left = history_.pairs_from(event.source);
  while (!left.empty()) {
    const std::uint64_t other = left.front().other;
    const auto end = std::ranges::upper_bound(left, other, {}, &PairEvent::other);
    const auto events = left.first(static_cast<std::size_t>(end - left.begin()));
    left = left.subspan(events.size());
    const bool trained = events.front().time < training_end_;
    const bool now = other == event.destination ||
                     std::ranges::binary_search(events, event.time, {}, &PairEvent::time);
    own_is_there = own_is_there || other == event.destination;
    if (trained && !now) met.historical.push_back(other);
    if (trained || now) met.barred.push_back(other);
  }
  if (!own_is_there)
    met.barred.insert(std::ranges::lower_bound(met.barred, event.destination), event.destination);
  return met;
}

void MixedNegatives::draw(RandomKey key,
                          const Event& event,
                          std::span<const std::uint64_t> candidates,
                          std::span<std::uint64_t> out) const {
  const Met met = met_by(event);
  auto to = out.begin();
  const std::uint64_t historical = std::min<std::uint64_t>(out.size() / 2, met.historical.size());
  for (const std::uint64_t place :
       distinct_below(met.historical.size(), historical, key.with("historical")))
    *to++ = met.historical[place];
  const std::vector<std::uint64_t> barred = places_of(met.barred, candidates);
  const std::uint64_t free = candidates.size() - barred.size();
  for (const std::uint64_t number : distinct_below(
           free, std::min<std::uint64_t>(out.size() - historical, free), key.with("random")))
    *to++ = candidates[place_beside(number, barred)];
  std::fill(to, out.end(), kNoNode);
}

}  // namespace sluice
