#include "prep/convert/duplicates.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sluice {

std::uint64_t drop_duplicates(std::span<std::uint64_t> ends,
                              std::uint64_t first_edge,
                              std::uint64_t edges_before,
                              const CscSink& sink,
                              const CscRoom& room,
                              const OnDuplicate& on_duplicate) {
  std::vector<std::uint32_t> order;
  std::vector<bool> repeated;
  std::uint64_t from = first_edge;
  std::uint64_t to = first_edge;
  for (std::size_t target = 0; target < ends.size(); ++target) {
    const std::uint64_t degree = ends[target] - edges_before - from;
    const auto source = [&](std::uint32_t i) { return source_of_edge(sink, room, from + i); };
    order.resize(degree);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return source(a) < source(b);
    });
    repeated.assign(degree, false);
    for (std::uint64_t i = 1; i < degree; ++i) {
      if (source(order[i]) != source(order[i - 1])) continue;
      on_duplicate(source(order[i]), target);
      repeated[order[i]] = true;
    }
    for (std::uint64_t i = 0; i < degree; ++i) {
      if (repeated[i]) continue;
      move_edges(sink, room, from + i, to++, 1);
    }
    from += degree;
    ends[target] = edges_before + to;
  }
  return from - to;
}

}  // namespace sluice
