#include "samplers/choose_positions.h"

#include <algorithm>
#include <numeric>

namespace sluice {

Result<void> PositionChooser::reserve(std::size_t count, MemoryLedger* ledger) {
  if (count <= kFew) return {};
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
  if (out.size() <= kFew) {
    choose_few(degree, key, out);
  } else {
    choose_many(degree, key, out);
  }
  for (std::uint64_t& position : out) position += begin;
}

void PositionChooser::choose_few(std::uint64_t degree,
                                 RandomKey key,
                                 std::span<std::uint64_t> out) {
  const std::uint64_t first = degree - out.size();
  for (std::size_t count = 0; count < out.size(); ++count) {
    const std::uint64_t last = first + count;
    const std::uint64_t drawn = key.below(last + 1, count);
    // Counted without a branch: where a random number falls is not to be predicted.
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) at += out[i] < drawn ? 1u : 0u;
    if (at < count && out[at] == drawn) {
      out[count] = last;  // above all chosen so far
      continue;
    }
    for (std::size_t i = count; i > at; --i) out[i] = out[i - 1];
    out[at] = drawn;
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
