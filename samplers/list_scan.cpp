#include "samplers/list_scan.h"

#include <algorithm>
#include <numeric>

namespace sluice {

Result<void> ListScan::begin(const Request& request,
                             std::span<std::int64_t> counts,
                             MemoryLedger* ledger) {
  request_ = request;
  counts_ = counts;
  ledger_ = ledger;
  first_ = next_ = {};
  list_ = {};
  kept_ = 0;
  std::ranges::fill(counts, 0);
  std::uint64_t longest = 0;
  bool hubs = false;
  for (std::size_t i = 0; i < request.ranges.size(); ++i) {
    longest = std::max(longest, request.ranges[i].degree());
    hubs = hubs || draws_own(i);
  }
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(longest, request.fanout));
  if (request.draws.count == SharedDraws::Count::kExact) {
    if (auto room = heap_.ensure(most, ledger); !room) return room;
  }
  if (!hubs) return {};
  // A copy: what the sources are listed in may be what the targets are, and moves as it grows.
  if (auto room = targets_.ensure(request.targets.size(), ledger); !room) return room;
  const auto targets = targets_.first(request.targets.size());
  std::ranges::copy(request.targets, targets.begin());
  request_.targets = targets;
  return request.weights.empty() ? chooser_.reserve(most, ledger) : weighted_.reserve(most, ledger);
}

std::span<const float> ListScan::weights_of(std::size_t target) const {
  const EdgeRange& range = request_.ranges[target];
  return request_.weights.empty() ? request_.weights
                                  : request_.weights.subspan(range.begin, range.degree());
}

// Edges that can be drawn.
std::uint64_t ListScan::there(std::size_t target) const {
  return request_.weights.empty() ? request_.ranges[target].degree()
                                  : WeightedChooser::count(weights_of(target));
}

bool ListScan::draws_own(std::size_t target) const {
  const std::uint64_t degree = request_.ranges[target].degree();
  if (request_.draws.hub_degree == 0 || degree <= request_.draws.hub_degree) return false;
  return degree > request_.fanout && there(target) > request_.fanout;
}

std::uint64_t ListScan::looked_at(std::size_t target) const {
  return draws_own(target) ? request_.fanout : request_.ranges[target].degree();
}

std::size_t ListScan::next_piece(std::size_t most) {
  first_ = next_;
  std::size_t count = 0;
  while (next_.target < request_.targets.size() && count < most) {
    const std::uint64_t left = looked_at(next_.target) - next_.behind;
    if (left <= most - count) {
      ++next_.target;
      next_.behind = 0;
      count += left;
    } else if (draws_own(next_.target)) {
      if (count != 0) break;  // it opens the next piece
      next_ = {next_.target + 1, 0};
      return left;
    } else {
      next_.behind += most - count;
      count = most;
    }
  }
  return count;
}

template <class Use>
void ListScan::for_each_stretch(Use use) const {
  Place at = first_;
  while (at.target < next_.target || (at.target == next_.target && at.behind < next_.behind)) {
    const bool ends = at.target < next_.target;
    const std::uint64_t end = ends ? looked_at(at.target) : next_.behind;
    if (end != at.behind) {
      use(Stretch{at.target, at.behind, static_cast<std::size_t>(end - at.behind), ends});
    }
    at = ends ? Place{at.target + 1, 0} : next_;
  }
}

void ListScan::choose(std::span<std::uint64_t> positions) {
  chosen_ = positions;
  for_each_stretch([&](const Stretch& stretch) {
    const std::size_t target = stretch.target;
    const EdgeRange& range = request_.ranges[target];
    const auto out = positions.first(stretch.count);
    positions = positions.subspan(stretch.count);
    if (!draws_own(target)) {
      std::iota(out.begin(), out.end(), range.begin + stretch.first);
      return;
    }
    const RandomKey key = request_.key.with(request_.targets[target]);
    if (request_.weights.empty()) {
      chooser_.choose(range.begin, range.degree(), key, out);
    } else {
      weighted_.draw(range.begin, weights_of(target), key, false, out);
    }
  });
}

ListScan::List ListScan::begin_list(std::size_t target) const {
  if (draws_own(target)) return {.rule = Rule::kOwn};
  if (there(target) <= request_.fanout) return {.rule = Rule::kAll};
  if (request_.draws.count == SharedDraws::Count::kExact) return {.rule = Rule::kLeast};
  double sum = static_cast<double>(request_.ranges[target].degree());
  if (!request_.weights.empty()) {
    sum = 0;
    for (const float weight : weights_of(target)) sum += static_cast<double>(weight);
  }
  return {.rule = Rule::kBelow, .chance = static_cast<double>(request_.fanout) / sum};
}

// As many edges as the piece may add: its own, and of a list that began before it those held.
Result<void> ListScan::make_room() {
  std::size_t most = 0;
  for_each_stretch([&](const Stretch& stretch) {
    const bool exact = request_.draws.count == SharedDraws::Count::kExact;
    const bool many = exact && request_.ranges[stretch.target].degree() > request_.fanout;
    most += many ? request_.fanout : stretch.count;
  });
  if (auto room = kept_sources_.ensure(most, ledger_); !room) return room;
  return kept_positions_.ensure(most, ledger_);
}

Result<void> ListScan::take(std::span<const std::uint64_t> sources) {
  kept_ = 0;
  if (auto room = make_room(); !room) return room;
  for_each_stretch([&](const Stretch& stretch) {
    if (stretch.first == 0) list_ = begin_list(stretch.target);
    if (list_.rule == Rule::kLeast) {
      race(stretch, sources);
    } else {
      look(stretch, sources);
    }
    if (stretch.ends && list_.rule == Rule::kLeast) keep_held(stretch.target);
    sources = sources.subspan(stretch.count);
    chosen_ = chosen_.subspan(stretch.count);
  });
  return {};
}

void ListScan::keep(std::size_t target, std::uint64_t position, std::uint64_t source) {
  kept_sources_.data()[kept_] = source;
  kept_positions_.data()[kept_] = position;
  ++kept_;
  ++counts_[target];
}

// Edges that are taken, or not, each on its own.
void ListScan::look(const Stretch& stretch, std::span<const std::uint64_t> sources) {
  const SourceNumbers& numbers = request_.draws.numbers;
  const std::span<const float> weights = request_.weights;
  const bool alike = list_.rule == Rule::kBelow && weights.empty();
  const double most = alike ? numbers.rank_at(list_.chance) : 0;
  for (std::size_t i = 0; i < stretch.count; ++i) {
    if (alike && numbers.clearly_above(sources[i], most)) continue;
    const std::uint64_t position = chosen_[i];
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[position]);
    if (!(weight > 0)) continue;
    if (list_.rule == Rule::kBelow && numbers.uniform(sources[i]) > list_.chance * weight) continue;
    keep(stretch.target, position, sources[i]);
  }
}

// The least of a list are held in a heap, from piece to piece.
void ListScan::race(const Stretch& stretch, std::span<const std::uint64_t> sources) {
  const SourceNumbers& numbers = request_.draws.numbers;
  const std::span<const float> weights = request_.weights;
  const std::size_t most = request_.fanout;
  Entry* const heap = heap_.data();
  for (std::size_t i = 0; i < stretch.count; ++i) {
    const std::uint64_t position = chosen_[i];
    Entry entry{0, position, sources[i]};
    if (weights.empty()) {
      if (list_.held == most && numbers.clearly_above(sources[i], heap[0].at)) continue;
      entry.at = numbers.rank(sources[i]);
    } else if (weights[position] > 0) {
      entry.at = numbers.uniform(sources[i]) / static_cast<double>(weights[position]);
    } else {
      continue;
    }
    if (list_.held < most) {
      heap[list_.held++] = entry;
      std::push_heap(heap, heap + list_.held);
    } else if (entry < heap[0]) {
      std::pop_heap(heap, heap + most);
      heap[most - 1] = entry;
      std::push_heap(heap, heap + most);
    }
  }
}

void ListScan::keep_held(std::size_t target) {
  const auto held = heap_.first(list_.held);
  std::ranges::sort(held, {}, &Entry::position);
  for (const Entry& entry : held) keep(target, entry.position, entry.source);
}

}  // namespace sluice
