#include "support/expect_error.h"

#include <sluice/samplers/seed_order.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

std::vector<std::uint64_t> test_ids(std::size_t count) {
  std::vector<std::uint64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = 3 * i + 1;
  return ids;
}

std::vector<std::uint64_t> whole_epoch(const SeedOrder& order, std::uint64_t epoch) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
    const auto batch = order.batch(epoch, b);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST_CASE("an epoch holds each id once, in batches of the size asked for") {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 16u, 17u, 97u, 100u, 1000u, 4097u}) {
    const auto ids = test_ids(count);
    for (const std::uint64_t batch_size : {1u, 3u, 10u, 5000u}) {
      const SeedOrder order(ids, batch_size, Shuffle::kEveryEpoch, RandomKey(8));
      for (std::uint64_t b = 0; b + 1 < order.num_batches(); ++b)
        CHECK(order.batch(0, b).size() == batch_size);
      auto all = whole_epoch(order, 4);
      std::sort(all.begin(), all.end());
      CHECK(all == ids);
    }
  }
}

TEST_CASE("without shuffling the ids come as they are") {
  const auto ids = test_ids(25);
  const SeedOrder order(ids, 10, Shuffle::kOff, RandomKey(8));
  CHECK(order.num_batches() == 3);
  CHECK(whole_epoch(order, 0) == ids);
  CHECK(order.batch(7, 2).size() == 5);
}

TEST_CASE(
    "epochs and seeds have orders of their own; the batch size does not matter to the order") {
  const auto ids = test_ids(1000);
  const SeedOrder order(ids, 10, Shuffle::kEveryEpoch, RandomKey(1));
  CHECK(whole_epoch(order, 0) != whole_epoch(order, 1));
  CHECK(whole_epoch(order, 0) != ids);
  CHECK(whole_epoch(order, 0) !=
        whole_epoch(SeedOrder(ids, 10, Shuffle::kEveryEpoch, RandomKey(2)), 0));
  CHECK(whole_epoch(order, 0) ==
        whole_epoch(SeedOrder(ids, 64, Shuffle::kEveryEpoch, RandomKey(1)), 0));
}

TEST_CASE("a batch size of zero is an error") {
  const auto ids = test_ids(3);
  const auto error = test::expect_error([&] { SeedOrder(ids, 0, Shuffle::kOff, RandomKey(1)); });
  CHECK(error.code() == ErrorCode::kUsage);
}

TEST_CASE("small permutations are all about equally likely") {
  // 24 orders of 4; chi-square with 23 degrees of freedom exceeds 49.7 once in 1,000 runs.
  constexpr int kTrials = 48000;
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const Permutation order(4, RandomKey(77).with(trial));
    ++counts[{order.at(0), order.at(1), order.at(2), order.at(3)}];
  }
  double chi_square = 0;
  for (const auto& [order, count] : counts)
    chi_square += (count - 2000.0) * (count - 2000.0) / 2000.0;
  INFO("seed 77, chi-square ", chi_square);
  CHECK(counts.size() == 24);
  CHECK(chi_square < 49.7);
}

TEST_CASE("in larger ones each place takes each value, and each pair of neighbours, alike") {
  constexpr std::uint64_t kSize = 101;
  constexpr int kTrials = 20200;
  std::vector<int> first(kSize), distance(kSize);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const Permutation order(kSize, RandomKey(78).with(trial));
    ++first[order.at(50)];
    ++distance[(order.at(51) + kSize - order.at(50)) % kSize];
  }
  const auto chi_square = [](const std::vector<int>& counts, std::size_t from, double expected) {
    double sum = 0;
    for (std::size_t i = from; i < counts.size(); ++i)
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
  };
  INFO("seed 78");
  CHECK(distance[0] == 0);
  CHECK(chi_square(first, 0, kTrials / 101.0) < 149.4);     // 100 degrees of freedom, p = .001
  CHECK(chi_square(distance, 1, kTrials / 100.0) < 148.2);  // 99 degrees of freedom
}

TEST_CASE("a batch far into a huge order is found at once") {
  const Permutation order(std::uint64_t{1} << 62, RandomKey(5));
  CHECK(order.at(12345678901234) < order.size());
  CHECK(order.at(0) != order.at(1));
}

}  // namespace
}  // namespace sluice
