#include "kernels/segment_max.h"

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <type_traits>

namespace sluice::kernels {
namespace {

using cpu::IntLanes;
using cpu::kLanes;
using cpu::Lanes;

// Items ahead whose rows are fetched.
constexpr std::int64_t kAhead = 16;

// Of sixteen columns each: what is best so far, and the winners, stay in registers.
template <std::size_t kVectors>
SLUICE_INLINE void prefetch_tile(const void* row) {
  for (std::size_t v = 0; v < kVectors; ++v)
    __builtin_prefetch(static_cast<const float*>(row) + v * std::size_t{kLanes});
}

template <std::size_t kVectors>
SLUICE_INLINE void max_tile(const RowLists& lists,
                            std::int64_t list,
                            const float* x,
                            std::int64_t width,
                            float* out,
                            std::int32_t* winner) {
  Lanes best[kVectors] = {};
  IntLanes edge[kVectors];
  for (auto& lanes : edge) lanes = IntLanes{} - 1;
  const std::int64_t first = lists.offsets[list];
  const std::int64_t last = lists.offsets[lists.count] - 1;
  for (std::int64_t p = first; p < lists.offsets[list + 1]; ++p) {
    prefetch_tile<kVectors>(x + std::int64_t{lists.items[std::min(p + kAhead, last)]} * width);
    const float* row = x + std::int64_t{lists.items[p]} * width;
    const auto id = static_cast<std::int32_t>(lists.edge(p));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Lanes values = cpu::load(row + v * std::size_t{kLanes});
      const IntLanes wins = p == first ? IntLanes{} - 1 : values > best[v];
      best[v] = wins ? values : best[v];
      edge[v] = wins ? IntLanes{} + id : edge[v];
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    cpu::store(out + v * std::size_t{kLanes}, best[v]);
    cpu::store(winner + v * std::size_t{kLanes}, edge[v]);
  }
}

SLUICE_INLINE void max_columns(const RowLists& lists,
                               std::int64_t list,
                               Rows<const float> x,
                               std::int64_t from,
                               float* best,
                               std::int32_t* edge) {
  std::fill(best + from, best + x.width, 0.0f);
  std::fill(edge + from, edge + x.width, -1);
  for (std::int64_t p = lists.offsets[list]; p < lists.offsets[list + 1]; ++p) {
    const float* row = x.row(lists.items[p]);
    const auto id = static_cast<std::int32_t>(lists.edge(p));
    for (std::int64_t c = from; c < x.width; ++c) {
      const bool wins = edge[c] < 0 || row[c] > best[c];
      best[c] = wins ? row[c] : best[c];
      edge[c] = wins ? id : edge[c];
    }
  }
}

template <std::size_t kVectors>
SLUICE_INLINE void max_backward_tile(const RowLists& transposed,
                                     std::int64_t list,
                                     Rows<const std::int32_t> winner,
                                     Rows<const float> grad_out,
                                     std::int64_t column,
                                     float* grad_x) {
  Lanes sum[kVectors] = {};
  const std::int64_t last = transposed.offsets[transposed.count] - 1;
  for (std::int64_t p = transposed.offsets[list]; p < transposed.offsets[list + 1]; ++p) {
    const std::int64_t ahead = transposed.items[std::min(p + kAhead, last)];
    prefetch_tile<kVectors>(winner.row(ahead) + column);
    prefetch_tile<kVectors>(grad_out.row(ahead) + column);
    const std::int32_t* edge = winner.row(transposed.items[p]) + column;
    const float* grad = grad_out.row(transposed.items[p]) + column;
    const IntLanes id = IntLanes{} + static_cast<std::int32_t>(transposed.edge(p));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const IntLanes won = cpu::load(edge + v * std::size_t{kLanes}) == id;
      sum[v] += won ? cpu::load(grad + v * std::size_t{kLanes}) : Lanes{};
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) cpu::store(grad_x + v * std::size_t{kLanes}, sum[v]);
}

/// Calls body(std::integral_constant of a tile's vectors, its first column) to cover the multiples
/// of kLanes; returns the first column that is left.
template <class Body>
SLUICE_INLINE std::int64_t for_columns(std::int64_t width, const Body& body) {
  std::int64_t column = 0;
  for (; column + 4 * kLanes <= width; column += 4 * kLanes)
    body(std::integral_constant<std::size_t, 4>(), column);
  if (column + 2 * kLanes <= width) {
    body(std::integral_constant<std::size_t, 2>(), column);
    column += 2 * kLanes;
  }
  if (column + kLanes <= width) {
    body(std::integral_constant<std::size_t, 1>(), column);
    column += kLanes;
  }
  return column;
}

}  // namespace

void segment_max(const Executor& executor,
                 const RowLists& lists,
                 Rows<const float> x,
                 Rows<float> out,
                 Rows<std::int32_t> winner) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* best = out.row(i);
      std::int32_t* edge = winner.row(i);
      const std::int64_t column = for_columns(x.width, [&](auto vectors, std::int64_t from) {
        max_tile<vectors()>(lists, i, x.data + from, x.width, best + from, edge + from);
      });
      if (column < x.width) max_columns(lists, i, x, column, best, edge);
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * out.width, work);
}

void segment_max_backward(const Executor& executor,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x) {
  const std::int64_t width = grad_x.width;
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      float* sum = grad_x.row(s);
      const std::int64_t column = for_columns(width, [&](auto vectors, std::int64_t from) {
        max_backward_tile<vectors()>(transposed, s, winner, grad_out, from, sum + from);
      });
      if (column == width) continue;
      std::fill(sum + column, sum + width, 0.0f);
      for (std::int64_t p = transposed.offsets[s]; p < transposed.offsets[s + 1]; ++p) {
        const std::int32_t* edge = winner.row(transposed.items[p]);
        const float* grad = grad_out.row(transposed.items[p]);
        const auto id = static_cast<std::int32_t>(transposed.edge(p));
        for (std::int64_t c = column; c < width; ++c) sum[c] += edge[c] == id ? grad[c] : 0.0f;
      }
    }
  };
  cpu::for_rows(
      executor, transposed.count, (transposed.num_items() + transposed.count) * width, work);
}

}  // namespace sluice::kernels
