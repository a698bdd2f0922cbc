#include "core/hash.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

using namespace sluice;

TEST_CASE("a draw depends on its key and counter alone") {
  const RandomKey key = RandomKey(7).with(3).with("features");
  CHECK(key.draw(5) == RandomKey(7).with(3).with("features").draw(5));
  CHECK(key.draw(5) != key.draw(6));
  CHECK(RandomKey(7).with(3).with(4).draw(0) != RandomKey(7).with(4).with(3).draw(0));
  CHECK(RandomKey(7).draw(0) != RandomKey(8).draw(0));
  static_assert(RandomKey(1).draw(0) == RandomKey(1).draw(0));
}

TEST_CASE("below is uniform: chi-square over 100 bins, across counters and across keys") {
  constexpr std::uint64_t kBins = 100;
  constexpr std::uint64_t kDraws = 1'000'000;
  const auto chi_square = [&](auto draw) {
    std::array<double, kBins> counts{};
    for (std::uint64_t i = 0; i < kDraws; ++i) counts[draw(i)] += 1;
    constexpr double kExpected = static_cast<double>(kDraws) / kBins;
    double sum = 0;
    for (const double count : counts) sum += (count - kExpected) * (count - kExpected) / kExpected;
    return sum;
  };
  // 99 degrees of freedom: mean 99, deviation 14; 5 deviations either side.
  const RandomKey key(11);
  for (const double value :
       {chi_square([&](std::uint64_t i) { return key.below(kBins, i); }),
        chi_square([&](std::uint64_t i) { return key.with(i).below(kBins, 0); }),
        chi_square([&](std::uint64_t i) { return key.with(i).with(i + 1).below(kBins, 3); })}) {
    CHECK(value > 29);
    CHECK(value < 169);
  }
}

TEST_CASE("neighbouring keys and counters are uncorrelated") {
  constexpr int kPairs = 200'000;
  const auto correlation = [&](auto left, auto right) {
    double xy = 0;
    for (std::uint64_t i = 0; i < kPairs; ++i) xy += (left(i) - 0.5) * (right(i) - 0.5);
    return 12 * xy / kPairs;  // the variance of a uniform is 1/12
  };
  const RandomKey key(3);
  const double bound = 5 / std::sqrt(double{kPairs});
  CHECK(std::abs(correlation([&](auto i) { return key.uniform(i); },
                             [&](auto i) { return key.uniform(i + 1); })) < bound);
  CHECK(std::abs(correlation([&](auto i) { return key.with(i).uniform(0); },
                             [&](auto i) { return key.with(i + 1).uniform(0); })) < bound);
  CHECK(std::abs(correlation([&](auto i) { return key.with(i).uniform(0); },
                             [&](auto i) { return key.with(i).uniform(1); })) < bound);
}

TEST_CASE("keys of a small grid do not collide") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
    for (std::uint64_t hop = 0; hop < 30; ++hop) {
      for (std::uint64_t node = 0; node < 100; ++node)
        seen.insert(RandomKey(1).with(epoch).with(hop).with(node).draw(0));
    }
  }
  CHECK(seen.size() == 90'000);
}

TEST_CASE("the streaming hash is the hash of the whole") {
  std::vector<std::byte> bytes(10'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31);
  Hasher hasher;
  hasher.update(std::span(bytes).first(77));
  hasher.update(std::span(bytes).subspan(77));
  CHECK(hasher.digest() == xxh3_64(bytes));
  // XXH3-64 of the empty input, from the xxHash specification.
  CHECK(xxh3_64({}) == 0x2d06800538d394c2ull);
  CHECK(hex64(0xab) == "00000000000000ab");
}
