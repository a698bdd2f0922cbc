#include "storage/embedding/bucket_order.h"

#include "storage/embedding/bucket_schedule.h"
#include "support/expect_error.h"

#include <sluice/error.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>

using namespace sluice;

namespace {

BucketOrder order_of(BucketOrderKind kind,
                     std::uint32_t partitions,
                     std::uint32_t slots,
                     std::uint32_t group = 1,
                     std::uint64_t seed = 1) {
  return make_bucket_order({kind, partitions, slots, group}, RandomKey(seed));
}

const BucketOrderKind kAllKinds[] = {BucketOrderKind::kSequential,
                                     BucketOrderKind::kBeta,
                                     BucketOrderKind::kComet,
                                     BucketOrderKind::kLegend};

// Counts by hand, apart from check_coverage.
void check_by_hand(const BucketOrder& order, std::uint32_t partitions, std::uint32_t slots) {
  std::multiset<std::pair<std::uint32_t, std::uint32_t>> trained;
  std::set<std::uint32_t> resident;
  for (const BucketState& state : order.states) {
    for (const std::uint32_t partition : state.evicted) CHECK(resident.erase(partition) == 1);
    for (const std::uint32_t partition : state.loaded) CHECK(resident.insert(partition).second);
    CHECK(resident.size() <= slots);
    CHECK(std::ranges::equal(resident, state.resident));
    for (const Bucket& bucket : state.buckets) {
      CHECK(resident.contains(bucket.source));
      CHECK(resident.contains(bucket.target));
      trained.insert({bucket.source, bucket.target});
    }
  }
  CHECK(trained.size() == std::size_t{partitions} * partitions);
  for (std::uint32_t i = 0; i < partitions; ++i)
    for (std::uint32_t j = 0; j < partitions; ++j) CHECK(trained.count({i, j}) == 1);
}

}  // namespace

TEST_CASE("every order trains every bucket once, with both its partitions resident") {
  for (const BucketOrderKind kind : kAllKinds) {
    for (const auto& [partitions, slots] : {std::pair{1u, 4u},
                                            {4u, 4u},
                                            {5u, 3u},
                                            {6u, 3u},
                                            {9u, 4u},
                                            {12u, 3u},
                                            {16u, 4u},
                                            {16u, 6u},
                                            {17u, 5u},
                                            {33u, 8u}}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(partitions);
        CAPTURE(slots);
        check_by_hand(order_of(kind, partitions, slots, 1, seed), partitions, slots);
      }
    }
  }
  check_by_hand(order_of(BucketOrderKind::kComet, 32, 8, 2), 32, 8);
  check_by_hand(order_of(BucketOrderKind::kComet, 24, 12, 4), 24, 12);
}

TEST_CASE("BETA swaps as often as its formula says") {
  struct Case {
    std::uint32_t partitions, slots, swaps;
  };
  for (const Case& c : {Case{16, 4, 42},
                        {8, 4, 9},
                        {12, 3, 34},
                        {16, 2, 119},
                        {16, 8, 17},
                        {32, 4, 173},
                        {32, 8, 78},
                        {64, 8, 308},
                        {64, 16, 150}}) {
    CAPTURE(c.partitions);
    CAPTURE(c.slots);
    CHECK(order_of(BucketOrderKind::kBeta, c.partitions, c.slots).swaps() == c.swaps);
    CHECK(order_of(BucketOrderKind::kSequential, c.partitions, c.slots).swaps() == c.swaps);
  }
  // Groups of two swap as BETA does over half as many partitions and slots, two at a time.
  CHECK(order_of(BucketOrderKind::kComet, 32, 8, 2).swaps() == 2 * 42);
}

TEST_CASE("orders depend on the key alone; the sequential one does not") {
  for (const BucketOrderKind kind : kAllKinds) {
    const auto sets = [&](std::uint64_t seed) {
      std::vector<std::vector<std::uint32_t>> all;
      for (const BucketState& state : order_of(kind, 16, 4, 1, seed).states)
        all.push_back(state.resident);
      return all;
    };
    CHECK(sets(1) == sets(1));
    CHECK((sets(1) == sets(2)) == (kind == BucketOrderKind::kSequential));
  }
}

TEST_CASE("Legend's order never evicts what was just loaded, and trains while it swaps") {
  for (const std::uint32_t slots : {3u, 4u, 5u}) {
    for (const std::uint32_t partitions : {8u, 12u, 16u}) {
      CAPTURE(slots);
      CAPTURE(partitions);
      const BucketOrder order = order_of(BucketOrderKind::kLegend, partitions, slots);
      std::uint64_t idle = 0;
      for (std::size_t s = 1; s + 1 < order.states.size(); ++s) {
        const BucketState& state = order.states[s];
        const auto& leaving = order.states[s + 1].evicted;
        for (const std::uint32_t partition : leaving)
          CHECK_FALSE(std::ranges::binary_search(state.loaded, partition));
        idle += std::ranges::none_of(state.buckets, [&](const Bucket& bucket) {
          return !std::ranges::binary_search(leaving, bucket.source) &&
                 !std::ranges::binary_search(leaving, bucket.target);
        });
      }
      // Each state loads a partition whose own bucket, or one with those held, is left: but for a
      // few late ones.
      CHECK(idle * 4 <= order.swaps());
    }
  }
}

TEST_CASE("buckets of partitions that leave next come first") {
  const BucketOrder order = order_of(BucketOrderKind::kComet, 16, 4, 1);
  for (std::size_t s = 0; s + 1 < order.states.size(); ++s) {
    const auto& leaving = order.states[s + 1].evicted;
    CHECK(std::ranges::is_partitioned(order.states[s].buckets, [&](const Bucket& bucket) {
      return std::ranges::binary_search(leaving, bucket.source) ||
             std::ranges::binary_search(leaving, bucket.target);
    }));
  }
}

TEST_CASE("an order that misses, repeats or cannot train a bucket is an error that names it") {
  const BucketOrder good = order_of(BucketOrderKind::kBeta, 6, 3);
  check_coverage(good, 6);
  const auto message = [](const BucketOrder& order) {
    try {
      check_coverage(order, 6);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kInternal);
      return error.message();
    }
    return std::string();
  };
  BucketOrder missing = good;
  const Bucket gone = missing.states[1].buckets.back();
  missing.states[1].buckets.pop_back();
  const std::string name =
      "(" + std::to_string(gone.source) + ", " + std::to_string(gone.target) + ")";
  CHECK(message(missing) == "the bucket order never trains bucket " + name);
  BucketOrder twice = good;
  twice.states[1].buckets.push_back(gone);
  CHECK(message(twice) == "the bucket order has twice bucket " + name);
  BucketOrder away = good;
  away.states[1].resident.clear();
  CHECK(message(away).find("lacks a partition of bucket") != std::string::npos);
}

TEST_CASE("options that make no order are refused with what would") {
  const auto code = [](const BucketOrderOptions& options) {
    try {
      make_bucket_order(options, RandomKey(1));
    } catch (const Error& error) {
      CHECK_FALSE(error.hint().empty());
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  CHECK(code({BucketOrderKind::kBeta, 0, 4}) == ErrorCode::kUsage);
  CHECK(code({BucketOrderKind::kBeta, 4, 1}) == ErrorCode::kUsage);
  CHECK(code({BucketOrderKind::kLegend, 4, 2}) == ErrorCode::kUsage);
  CHECK(code({BucketOrderKind::kComet, 16, 4, 3}) == ErrorCode::kUsage);
  CHECK(code({BucketOrderKind::kComet, 16, 4, 4}) == ErrorCode::kUsage);
  CHECK(code({BucketOrderKind::kComet, 16, 4, 0}) == ErrorCode::kUsage);
}

TEST_CASE("times are those of a walk by hand, and the faster order is chosen") {
  // Three partitions in two slots: {0, 1}, {0, 2}, {1 or 2, ...}.
  const BucketOrder order = order_of(BucketOrderKind::kSequential, 3, 2);
  REQUIRE(order.states.size() == 3);
  BucketCosts costs{[](const Bucket&) { return 1.0; }, 10, 5};
  const BucketTimes spare = simulate(order, costs, SpareSlot::kOne);
  CHECK(spare.compute_seconds == 9);
  // 20 to fill; 4 buckets beside 10 of reading; 3 beside 10 + 5; 2 beside the writing of 5; 10 out.
  CHECK(spare.seconds == 20 + 10 + 15 + 5 + 10);
  const BucketTimes none = simulate(order, costs, SpareSlot::kNone);
  CHECK(none.seconds > spare.seconds);
  CHECK(none.compute_seconds == 9);

  // On a disk that costs nothing all is computing; on a slow one fewer swaps win.
  costs = {[](const Bucket&) { return 1.0; }, 0, 0};
  CHECK(choose_bucket_order(16, 5, costs, RandomKey(1)).times.seconds == 256);
  for (const double slow : {0.1, 1.0, 10.0, 100.0}) {
    CAPTURE(slow);
    costs = {[](const Bucket&) { return 1.0; }, slow, slow};
    const BucketPlan plan = choose_bucket_order(16, 5, costs, RandomKey(1));
    const auto seconds = [&](BucketOrderKind kind, std::uint32_t slots, SpareSlot with) {
      return simulate(make_bucket_order({kind, 16, slots}, RandomKey(1)), costs, with).seconds;
    };
    CHECK(plan.times.seconds == std::min(seconds(BucketOrderKind::kBeta, 4, SpareSlot::kOne),
                                         seconds(BucketOrderKind::kLegend, 5, SpareSlot::kNone)));
  }
}
