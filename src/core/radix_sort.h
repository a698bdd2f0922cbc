// Stable sorting of many items by an integer: least digit first, in time that is linear in their
// number. Digits in which all items agree cost nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// Sorts `items` by `key(item)`, ascending, equal ones in the order they had.
/// @param scratch room for as many items again; it is resized, and may be swapped with `items`
template <class Item, class Key>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, Key key) {
  constexpr unsigned kBits = 11;  // the counts of a digit, and as many open cache lines, stay in L2
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kBits;
  if (items.empty()) return;
  std::uint64_t varying = 0;
  const std::uint64_t first = key(items.front());
  for (const Item& item : items) varying |= first ^ std::uint64_t{key(item)};
  scratch.resize(items.size());
  for (unsigned shift = 0; shift < 64 && varying >> shift != 0; shift += kBits) {
    if ((varying >> shift & (kDigits - 1)) == 0) continue;
    std::array<std::size_t, kDigits> place{};
    for (const Item& item : items) ++place[key(item) >> shift & (kDigits - 1)];
    std::size_t sum = 0;
    for (std::size_t& count : place) sum += std::exchange(count, sum);
    for (const Item& item : items) scratch[place[key(item) >> shift & (kDigits - 1)]++] = item;
    items.swap(scratch);
  }
}

}  // namespace sluice
