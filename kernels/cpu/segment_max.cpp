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
constexpr std::int64_t kMaxItemsAhead = 16;
// Items a list from which on few edges win anything: gradients go from targets then.
constexpr std::int64_t kLongLists = 12;

// Of columns that a thread has to itself: a cache line's.
std::int64_t stripes_of(std::int64_t width) {
  return (width + kLanes - 1) / kLanes;
}

// Whether a value takes the place of the best so far: NaN does, and stays, so that what is not a
// number is seen in the end.
SLUICE_INLINE IntLanes beats(const Lanes& value, const Lanes& best) {
  // NOLINTNEXTLINE(misc-redundant-expression): NaN is not itself
  return (value > best) | ((value != value) & (best == best));
}
SLUICE_INLINE bool beats(float value, float best) {
  return value > best || (value != value && best == best);
}

// Of sixteen columns each: what is best so far, and the winners, stay in registers.
template <std::size_t kVectors, class T>
SLUICE_INLINE void prefetch_tile(const T* row) {
  for (std::size_t at = 0; at < kVectors * kLanes; at += 64 / sizeof(T))
    __builtin_prefetch(row + at);
}

template <std::size_t kVectors, class T>
SLUICE_INLINE void max_tile(const RowLists& lists,
                            std::int64_t list,
                            const T* x,
                            std::int64_t width,
                            float* out,
                            std::int32_t* winner) {
  Lanes best[kVectors] = {};
  IntLanes edge[kVectors];
  for (auto& lanes : edge) lanes = IntLanes{} - 1;
  const std::int64_t first = lists.offsets[list];
  const std::int64_t last = lists.offsets[lists.count] - 1;
  for (std::int64_t p = first; p < lists.offsets[list + 1]; ++p) {
    prefetch_tile<kVectors>(x +
                            std::int64_t{lists.items[std::min(p + kMaxItemsAhead, last)]} * width);
    const T* row = x + std::int64_t{lists.items[p]} * width;
    const auto id = static_cast<std::int32_t>(lists.edge(p));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Lanes values = cpu::load(row + v * std::size_t{kLanes});
      const IntLanes wins = p == first ? IntLanes{} - 1 : beats(values, best[v]);
      best[v] = wins ? values : best[v];
      edge[v] = wins ? IntLanes{} + id : edge[v];
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    cpu::store(out + v * std::size_t{kLanes}, best[v]);
    cpu::store(winner + v * std::size_t{kLanes}, edge[v]);
  }
}

template <class T>
SLUICE_INLINE void max_columns(const RowLists& lists,
                               std::int64_t list,
                               Rows<T> x,
                               std::int64_t from,
                               float* best,
                               std::int32_t* edge) {
  std::fill(best + from, best + x.width, 0.0f);
  std::fill(edge + from, edge + x.width, -1);
  for (std::int64_t p = lists.offsets[list]; p < lists.offsets[list + 1]; ++p) {
    const T* row = x.row(lists.items[p]);
    const auto id = static_cast<std::int32_t>(lists.edge(p));
    for (std::int64_t c = from; c < x.width; ++c) {
      const float value = widen(row[c]);
      const bool wins = edge[c] < 0 || beats(value, best[c]);
      best[c] = wins ? value : best[c];
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
    const std::int64_t ahead = transposed.items[std::min(p + kMaxItemsAhead, last)];
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

// Gradients by sources: an edge's winners and gradient are read whatever it won.
void max_backward_by_sources(const Executor& executor,
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

// By targets: each element goes to its winner. A thread has columns of its own, so no sum is
// shared, and goes through the targets, whose edges ascend, in their order: the same sums.
void max_backward_by_targets(const Executor& executor,
                             const RowLists& lists,
                             Rows<const std::int32_t> winner,
                             Rows<const float> grad_out,
                             Rows<float> grad_x) {
  constexpr std::int64_t kTargetsAhead = 4;
  const std::int64_t width = grad_x.width;
  cpu::for_rows(
      executor, grad_x.count, grad_x.count * width, [=](std::int64_t begin, std::int64_t end) {
        std::fill(grad_x.row(begin), grad_x.row(end), 0.0f);
      });
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    const std::int64_t from = begin * kLanes, to = std::min(end * kLanes, width);
    for (std::int64_t t = 0; t < lists.count; ++t) {
      if (t + kTargetsAhead < lists.count) {
        const std::int32_t* edge = winner.row(t + kTargetsAhead);
        for (std::int64_t c = from; c < to; ++c)
          if (edge[c] >= 0) __builtin_prefetch(grad_x.row(lists.items[edge[c]]) + c, 1);
      }
      const std::int32_t* edge = winner.row(t);
      const float* grad = grad_out.row(t);
      for (std::int64_t c = from; c < to; ++c)
        if (edge[c] >= 0) grad_x.row(lists.items[edge[c]])[c] += grad[c];
    }
  };
  cpu::for_rows(executor, stripes_of(width), lists.count * width * kLanes, work);
}

}  // namespace

void segment_max(const Executor& executor,
                 const RowLists& lists,
                 FloatRows any,
                 Rows<float> out,
                 Rows<std::int32_t> winner) {
  any.visit([&](auto x) {
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
  });
}

void segment_max_backward(const Executor& executor,
                          const RowLists& lists,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x) {
  const std::int64_t threads = executor.threads == nullptr ? 1 : executor.threads->threads();
  if (lists.num_items() >= kLongLists * lists.count && stripes_of(grad_x.width) >= threads) {
    max_backward_by_targets(executor, lists, winner, grad_out, grad_x);
  } else {
    max_backward_by_sources(executor, transposed, winner, grad_out, grad_x);
  }
}

}  // namespace sluice::kernels
