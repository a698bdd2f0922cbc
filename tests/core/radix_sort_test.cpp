#include "core/radix_sort.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace sluice;

TEST_CASE("radix_sort is std::stable_sort, whatever bits the keys use") {
  struct Item {
    std::uint64_t key;
    std::uint32_t at;
    bool operator==(const Item&) const = default;
  };
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    const std::size_t count = key.below(5000, 0);
    const unsigned low = static_cast<unsigned>(key.below(60, 1));
    const unsigned width = 1 + static_cast<unsigned>(key.below(64 - low, 2));
    const std::uint64_t constant = key.draw(3);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - width)) << low;
    std::vector<Item> items, scratch;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t varying = seed % 2 == 0 ? key.draw(9 + i) : key.below(7, 9 + i) << low;
      items.push_back({(constant & ~mask) | (varying & mask), static_cast<std::uint32_t>(i)});
    }
    std::vector<Item> wanted = items;
    std::stable_sort(
        wanted.begin(), wanted.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    radix_sort(items, scratch, [](const Item& item) { return item.key; });
    CHECK(items == wanted);
  }
}
