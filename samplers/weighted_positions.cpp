#include "samplers/weighted_positions.h"

#include <algorithm>
#include <cmath>

namespace sluice {

std::uint64_t WeightedChooser::count(std::span<const float> weights) {
  return static_cast<std::uint64_t>(
      std::count_if(weights.begin(), weights.end(), [](float weight) { return weight > 0; }));
}

Result<void> WeightedChooser::reserve(std::size_t count, MemoryLedger* ledger) {
  return entries_.ensure(count, ledger);
}

void WeightedChooser::draw(std::uint64_t begin,
                           std::span<const float> weights,
                           RandomKey key,
                           bool replace,
                           std::span<std::uint64_t> out) {
  if (out.empty()) return;
  if (replace) {
    invert(weights, key, out.size());
  } else {
    race(weights, key, out.size());
  }
  const auto entries = entries_.first(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = begin + entries[i].position;
  std::sort(out.begin(), out.end());
}

// The first `count` to arrive, in a heap with the last of them on top.
void WeightedChooser::race(std::span<const float> weights, RandomKey key, std::size_t count) {
  const auto heap = entries_.first(count);
  std::size_t size = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    const double uniform = key.uniform(i) + 0x1.0p-54;  // never 0
    const Entry entry{-std::log(uniform) / static_cast<double>(weights[i]), i};
    if (size < count) {
      heap[size++] = entry;
      std::push_heap(heap.begin(), heap.begin() + static_cast<std::ptrdiff_t>(size));
    } else if (entry < heap[0]) {
      std::pop_heap(heap.begin(), heap.end());
      heap[count - 1] = entry;
      std::push_heap(heap.begin(), heap.end());
    }
  }
}

// `count` points of [0, sum), ascending, and the edges whose shares of it they fall into.
void WeightedChooser::invert(std::span<const float> weights, RandomKey key, std::size_t count) {
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight);
  const auto points = entries_.first(count);
  for (std::size_t i = 0; i < count; ++i) points[i] = {key.uniform(i) * sum, 0};
  std::sort(points.begin(), points.end());
  double end = 0;
  std::size_t next = 0;
  std::uint64_t last = 0;  // that may be drawn: rounding may leave points behind the sum
  for (std::size_t i = 0; i < weights.size() && next < count; ++i) {
    if (!(weights[i] > 0)) continue;
    last = i;
    end += static_cast<double>(weights[i]);
    for (; next < count && points[next].at < end; ++next) points[next].position = i;
  }
  for (; next < count; ++next) points[next].position = last;
}

}  // namespace sluice
