#include "storage/embedding/bucket_order.h"

#include "storage/embedding/resident_sets.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

std::vector<std::uint32_t> without(const std::vector<std::uint32_t>& from,
                                   const std::vector<std::uint32_t>& what) {
  std::vector<std::uint32_t> rest;
  std::ranges::set_difference(from, what, std::back_inserter(rest));
  return rest;
}

bool has(const std::vector<std::uint32_t>& ascending, std::uint32_t partition) {
  return std::ranges::binary_search(ascending, partition);
}

Error bad_options(std::string what, std::string hint) {
  return Error(ErrorCode::kUsage, std::move(what), std::move(hint));
}

void check_options(const BucketOrderOptions& options) {
  const bool legend = options.kind == BucketOrderKind::kLegend;
  const std::uint32_t least = legend ? 3 : 2;
  if (options.partitions == 0)
    throw bad_options("a bucket order of no partitions", "ask for at least one partition");
  if (options.slots < least && options.slots < options.partitions) {
    throw bad_options(
        fmt::format(
            "{} partitions cannot be trained in {} slots", options.partitions, options.slots),
        fmt::format("this order needs at least {} slots", least));
  }
  if (options.kind != BucketOrderKind::kComet) return;
  const std::uint32_t group = options.group;
  if (group == 0 || options.partitions % group != 0 || options.slots % group != 0 ||
      (options.slots / group < 2 && options.slots < options.partitions)) {
    throw bad_options(
        fmt::format("groups of {} do not divide {} partitions and {} slots into two and more",
                    group,
                    options.partitions,
                    options.slots),
        "choose a group that divides both, at most half of the slots");
  }
}

// Groups of partitions, each random in a random order of all.
std::vector<ResidentSet> comet_sets(const BucketOrderOptions& options, RandomKey key) {
  const std::uint32_t group = options.group;
  const auto shuffled = shuffled_partitions(options.partitions, key.with("groups"));
  std::vector<ResidentSet> sets =
      beta_sets(options.partitions / group, options.slots / group, key.with("order"));
  for (ResidentSet& set : sets) {
    ResidentSet members;
    for (const std::uint32_t g : set) {
      const auto first = shuffled.begin() + static_cast<std::ptrdiff_t>(std::size_t{g} * group);
      members.insert(members.end(), first, first + group);
    }
    set = std::move(members);
  }
  return sets;
}

std::vector<ResidentSet> sets_of(const BucketOrderOptions& options, RandomKey key) {
  if (options.slots >= options.partitions) {
    ResidentSet all(options.partitions);
    std::iota(all.begin(), all.end(), 0u);
    return {all};
  }
  switch (options.kind) {
    case BucketOrderKind::kSequential:
      return beta_sets(options.partitions, options.slots, std::nullopt);
    case BucketOrderKind::kBeta:
      return beta_sets(options.partitions, options.slots, key);
    case BucketOrderKind::kComet:
      return comet_sets(options, key);
    case BucketOrderKind::kLegend:
      return legend_sets(options.partitions, options.slots, key);
  }
  throw Error(ErrorCode::kInternal, "an unknown bucket order was asked for");
}

std::vector<BucketState> states_of(std::vector<ResidentSet> sets) {
  std::vector<BucketState> states;
  for (ResidentSet& set : sets) {
    BucketState state;
    state.resident = std::move(set);
    std::ranges::sort(state.resident);
    if (states.empty()) {
      state.loaded = state.resident;
    } else {
      state.loaded = without(state.resident, states.back().resident);
      state.evicted = without(states.back().resident, state.resident);
    }
    states.push_back(std::move(state));
  }
  return states;
}

// To the first state that has both partitions of a pair.
void give_to_first(std::vector<BucketState>& states, std::uint32_t partitions) {
  std::vector<bool> given(std::size_t{partitions} * partitions);
  for (BucketState& state : states) {
    for (const std::uint32_t i : state.resident) {
      for (const std::uint32_t j : state.resident) {
        if (given[std::size_t{i} * partitions + j]) continue;
        given[std::size_t{i} * partitions + j] = true;
        state.buckets.push_back({i, j});
      }
    }
  }
}

// To a random one of those states.
void give_to_any(std::vector<BucketState>& states, std::uint32_t partitions, RandomKey key) {
  std::vector<std::uint32_t> able;
  for (std::uint32_t i = 0; i < partitions; ++i) {
    for (std::uint32_t j = 0; j < partitions; ++j) {
      able.clear();
      for (std::uint32_t s = 0; s < states.size(); ++s)
        if (has(states[s].resident, i) && has(states[s].resident, j)) able.push_back(s);
      if (able.empty()) continue;  // the check tells
      const std::uint64_t drawn = key.below(able.size(), std::uint64_t{i} * partitions + j);
      states[able[drawn]].buckets.push_back({i, j});
    }
  }
}

void put_leaving_first(std::vector<BucketState>& states) {
  for (std::size_t s = 0; s + 1 < states.size(); ++s) {
    const std::vector<std::uint32_t>& leaving = states[s + 1].evicted;
    std::ranges::stable_partition(states[s].buckets, [&](const Bucket& bucket) {
      return has(leaving, bucket.source) || has(leaving, bucket.target);
    });
  }
}

}  // namespace

std::uint64_t BucketOrder::swaps() const {
  std::uint64_t count = 0;
  for (std::size_t s = 1; s < states.size(); ++s) count += states[s].loaded.size();
  return count;
}

BucketOrder make_bucket_order(const BucketOrderOptions& options, RandomKey key) {
  check_options(options);
  BucketOrder order{states_of(sets_of(options, key))};
  if (options.kind == BucketOrderKind::kComet) {
    give_to_any(order.states, options.partitions, key.with("buckets"));
  } else {
    give_to_first(order.states, options.partitions);
  }
  put_leaving_first(order.states);
  check_coverage(order, options.partitions);
  return order;
}

void check_coverage(const BucketOrder& order, std::uint32_t partitions) {
  const auto wrong = [](const Bucket& bucket, const std::string& how) {
    return Error(
        ErrorCode::kInternal,
        fmt::format("the bucket order {} bucket ({}, {})", how, bucket.source, bucket.target),
        "this is a bug in Sluice: please report it");
  };
  std::vector<bool> trained(std::size_t{partitions} * partitions);
  for (const BucketState& state : order.states) {
    for (const Bucket& bucket : state.buckets) {
      if (!has(state.resident, bucket.source) || !has(state.resident, bucket.target))
        throw wrong(bucket, "lacks a partition of");
      auto once = trained[std::size_t{bucket.source} * partitions + bucket.target];
      if (once) throw wrong(bucket, "has twice");
      once = true;
    }
  }
  for (std::uint32_t i = 0; i < partitions; ++i) {
    for (std::uint32_t j = 0; j < partitions; ++j)
      if (!trained[std::size_t{i} * partitions + j]) throw wrong({i, j}, "never trains");
  }
}

}  // namespace sluice
