#include "samplers/choose_positions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace sluice {

Result<void> PositionChooser::reserve(std::size_t count, MemoryLedger* ledger) {
  taken_.clear();
  return taken_.reserve(count, ledger);
}

void PositionChooser::choose(std::uint64_t begin,
                             std::uint64_t degree,
                             RandomKey key,
                             std::span<std::uint64_t> out) {
  if (out.size() == degree) {
    std::iota(out.begin(), out.end(), begin);
    return;
  }
  if (out.size() <= kFew && degree < (std::uint64_t{1} << 31)) {
    choose_few(degree, key, out);
  } else {
    choose_many(degree, key, out);
  }
  for (std::uint64_t& position : out) position += begin;
}

void PositionChooser::choose_few(std::uint64_t degree,
                                 RandomKey key,
                                 std::span<std::uint64_t> out) {
  // All loops over the chosen run in whole vectors and without branches, as random numbers cannot
  // be predicted. Unused lanes hold what is above any position.
  constexpr std::size_t kLanes = 8;
  std::array<std::int32_t, kFew> chosen;
  const std::size_t lanes = (out.size() + kLanes - 1) / kLanes * kLanes;
  std::fill_n(chosen.begin(), lanes, std::numeric_limits<std::int32_t>::max());
  const auto count_lanes = [&](auto matches) {
    std::int32_t count = 0;
    for (std::size_t vector = 0; vector < lanes; vector += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        count += matches(chosen[vector + lane]) ? 1 : 0;
    }
    return static_cast<std::size_t>(count);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t last = degree - out.size() + i;
    const auto drawn = static_cast<std::int32_t>(key.below(last + 1, i));
    const bool taken = count_lanes([drawn](std::int32_t other) { return other == drawn; }) != 0;
    chosen[i] = taken ? static_cast<std::int32_t>(last) : drawn;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int32_t one = chosen[i];
    const std::size_t rank = count_lanes([one](std::int32_t other) { return other < one; });
    out[rank] = static_cast<std::uint64_t>(one);
  }
}

void PositionChooser::choose_many(std::uint64_t degree,
                                  RandomKey key,
                                  std::span<std::uint64_t> out) {
  taken_.clear();
  const std::uint64_t first = degree - out.size();
  for (std::size_t count = 0; count < out.size(); ++count) {
    const std::uint64_t last = first + count;
    taken_.insert(key.below(last + 1, count));
    if (taken_.size() == count) taken_.insert(last);  // the drawn one was there
  }
  std::copy(taken_.ids().begin(), taken_.ids().end(), out.begin());
  std::sort(out.begin(), out.end());
}

}  // namespace sluice
