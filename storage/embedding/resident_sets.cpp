#include "storage/embedding/resident_sets.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

void shuffle(std::vector<std::uint32_t>& items, RandomKey key) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[key.below(i, i)]);
}

// Legend's walk. Partitions are numbered 0, 1, ... here, whatever they are called.
class LegendWalk {
 public:
  LegendWalk(std::uint32_t partitions, std::uint32_t slots)
      : partitions_(partitions), open_(std::size_t{partitions} * partitions, true) {
    for (std::uint32_t p = 0; p < slots; ++p) (p + 2 < slots ? held_ : rotating_).push_back(p);
    open_pairs_ = std::size_t{partitions} * (partitions - 1) / 2;
    arrive();
  }

  std::vector<ResidentSet> run() {
    while (open_pairs_ > 0) {
      if (std::ranges::none_of(held_, [this](std::uint32_t h) { return open_pairs_of(h) > 0; }))
        hold_others();
      std::uint32_t next = best_next();
      if (gain(next) == 0) next = any_open();
      rotating_.erase(rotating_.begin());
      rotating_.push_back(next);
      arrive();
    }
    return std::move(sets_);
  }

 private:
  bool is_open(std::uint32_t a, std::uint32_t b) const {
    return a != b && open_[std::size_t{std::min(a, b)} * partitions_ + std::max(a, b)];
  }

  // The pairs of the resident are met.
  void arrive() {
    ResidentSet set = held_;
    set.insert(set.end(), rotating_.begin(), rotating_.end());
    for (const std::uint32_t a : set) {
      for (const std::uint32_t b : set) {
        if (!is_open(a, b)) continue;
        open_[std::size_t{std::min(a, b)} * partitions_ + std::max(a, b)] = false;
        --open_pairs_;
      }
    }
    sets_.push_back(std::move(set));
  }

  std::uint32_t open_pairs_of(std::uint32_t partition) const {
    std::uint32_t count = 0;
    for (std::uint32_t other = 0; other < partitions_; ++other) count += is_open(partition, other);
    return count;
  }

  bool resident(std::uint32_t partition) const {
    return std::ranges::find(held_, partition) != held_.end() ||
           std::ranges::find(rotating_, partition) != rotating_.end();
  }

  // Those held have met all: the last that was loaded is held with others that are here, and what
  // was held rotates out.
  void hold_others() {
    ResidentSet others = held_;
    others.push_back(rotating_.front());
    std::ranges::stable_sort(others, [this](std::uint32_t a, std::uint32_t b) {
      return open_pairs_of(a) < open_pairs_of(b);
    });
    const std::size_t holds = held_.size();
    held_ = {rotating_.back()};
    while (held_.size() < holds) {
      held_.push_back(others.back());
      others.pop_back();
    }
    rotating_ = std::move(others);
  }

  // Open pairs that a partition would meet here once the older of the two is gone.
  std::uint32_t gain(std::uint32_t partition) const {
    std::uint32_t count = is_open(partition, rotating_.back());
    for (const std::uint32_t h : held_) count += is_open(partition, h);
    return count;
  }

  // Of those with the most, the first in a cycle from behind what stays.
  std::uint32_t best_next() const {
    const std::uint32_t from = rotating_.back() + held_.front() + 2;
    std::uint32_t best = partitions_;
    for (std::uint32_t i = 0; i < partitions_; ++i) {
      const std::uint32_t partition = (from + i) % partitions_;
      if (resident(partition)) continue;
      if (best == partitions_ || gain(partition) > gain(best)) best = partition;
    }
    return best;
  }

  // One end of an open pair that is not here, where none of the resident has an open pair.
  std::uint32_t any_open() const {
    std::uint32_t partition = 0;
    while (resident(partition) || open_pairs_of(partition) == 0) ++partition;
    return partition;
  }

  std::uint32_t partitions_;
  std::vector<bool> open_;  // pairs (smaller, larger) that have not met
  std::size_t open_pairs_ = 0;
  ResidentSet held_;
  ResidentSet rotating_;  // two, the older first
  std::vector<ResidentSet> sets_;
};

}  // namespace

std::vector<std::uint32_t> shuffled_partitions(std::uint32_t count, RandomKey key) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0u);
  shuffle(all, key);
  return all;
}

std::vector<ResidentSet> beta_sets(std::uint32_t partitions,
                                   std::uint32_t slots,
                                   std::optional<RandomKey> key) {
  std::vector<std::uint32_t> order(partitions);
  std::iota(order.begin(), order.end(), 0u);
  if (key) shuffle(order, key->with("partitions"));
  ResidentSet resident(order.begin(), order.begin() + slots);
  std::vector<std::uint32_t> rest(order.begin() + slots, order.end());
  std::vector<ResidentSet> sets{resident};
  for (std::uint64_t round = 0; !rest.empty(); ++round) {
    if (key) shuffle(rest, key->with("round").with(round));
    for (std::uint32_t& through : rest) {
      std::swap(resident.back(), through);
      sets.push_back(resident);
    }
    for (std::uint32_t s = 0; s + 1 < slots && !rest.empty(); ++s) {
      resident[s] = rest.front();
      rest.erase(rest.begin());
      sets.push_back(resident);
    }
  }
  return sets;
}

std::vector<ResidentSet> legend_sets(std::uint32_t partitions, std::uint32_t slots, RandomKey key) {
  std::vector<ResidentSet> sets = LegendWalk(partitions, slots).run();
  const auto names = shuffled_partitions(partitions, key.with("partitions"));
  for (ResidentSet& set : sets)
    for (std::uint32_t& partition : set) partition = names[partition];
  return sets;
}

}  // namespace sluice
