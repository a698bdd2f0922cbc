#include "kernels/segment_sum.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include <algorithm>

namespace sluice::kernels {
namespace {

using cpu::One;

/// Items ahead of the one being added whose rows are fetched: about what the memory's latency
/// takes.
constexpr std::int64_t kSumItemsAhead = 16;

template <class T>
SLUICE_INLINE void add_row(float* sum, const T* row, One, std::int64_t width) {
  cpu::add(sum, row, width);
}
template <class T>
SLUICE_INLINE void add_row(float* sum, const T* row, float factor, std::int64_t width) {
  cpu::add_scaled(sum, row, factor, width);
}

/// Stretches of a row that are added up: `count` of them, `step` elements apart.
struct Parts {
  std::int64_t count = 1, step = 0;
};

/// out = the sum over parts and a list's items of factor_of(position, item, part) * their rows,
/// over `columns` columns; `x` and `out` begin at the first of them, rows of x are `stride` apart.
template <class FactorOf, class T>
SLUICE_INLINE void sum_list(const RowLists& lists,
                            std::int64_t list,
                            const FactorOf& factor_of,
                            const T* x,
                            std::int64_t stride,
                            std::int64_t columns,
                            Parts parts,
                            float* out) {
  const std::int64_t begin = lists.offsets[list], end = lists.offsets[list + 1];
  const std::int64_t last = lists.offsets[lists.count] - 1;
  const std::int64_t rest = cpu::for_tiles<T>(columns, [&](auto tile, std::int64_t column) {
    for (std::int64_t part = 0; part < parts.count; ++part) {
      const T* from = x + part * parts.step + column;
      for (std::int64_t p = begin; p < end; ++p) {
        tile.prefetch(from +
                      std::int64_t{lists.items[std::min(p + kSumItemsAhead, last)]} * stride);
        const std::int64_t item = lists.items[p];
        tile.add(from + item * stride, factor_of(p, item, part));
      }
    }
    tile.store_to(out + column);
  });
  if (rest == columns) return;
  std::fill(out + rest, out + columns, 0.0f);
  for (std::int64_t part = 0; part < parts.count; ++part) {
    const T* from = x + part * parts.step + rest;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t item = lists.items[p];
      add_row(out + rest, from + item * stride, factor_of(p, item, part), columns - rest);
    }
  }
}

/// All lists of [begin, end).
template <class FactorOf, class T>
SLUICE_INLINE void sum_lists(const RowLists& lists,
                             std::int64_t begin,
                             std::int64_t end,
                             const FactorOf& factor_of,
                             const SegmentScales& scales,
                             Rows<T> x,
                             Rows<float> out) {
  for (std::int64_t i = begin; i < end; ++i) {
    sum_list(lists, i, factor_of, x.data, x.width, x.width, Parts(), out.row(i));
    if (scales.list != nullptr) cpu::scale(out.row(i), scales.list[i], x.width);
    if (i < scales.own_count) cpu::add_scaled(out.row(i), x.row(i), scales.own[i], x.width);
  }
}

}  // namespace

void segment_sum(const Executor& executor,
                 const RowLists& lists,
                 const SegmentScales& scales,
                 FloatRows any,
                 Rows<float> out) {
  any.visit([&](auto x) {
    const auto work = [=](std::int64_t begin, std::int64_t end) {
      if (scales.item == nullptr) {
        const auto one = [](std::int64_t, std::int64_t, std::int64_t) { return One(); };
        sum_lists(lists, begin, end, one, scales, x, out);
      } else {
        const auto scale = [&](std::int64_t, std::int64_t item, std::int64_t) {
          return scales.item[item];
        };
        sum_lists(lists, begin, end, scale, scales, x, out);
      }
    };
    cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * x.width, work);
  });
}

void segment_weighted_sum(const Executor& executor,
                          const RowLists& lists,
                          Rows<const float> weights,
                          Rows<const float> own_weights,
                          FloatRows any,
                          Rows<float> out) {
  any.visit([&](auto x) {
    const HeadColumns columns(weights.width, x.width, out.width);
    const bool added_up = columns.out_step == 0;
    const std::int64_t sums = added_up ? 1 : columns.heads;
    const Parts parts{added_up ? columns.heads : 1, columns.x_step};
    const auto work = [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t first = 0; first < sums; ++first) {
          const auto weight = [&](std::int64_t p, std::int64_t, std::int64_t part) {
            return weights.row(lists.edge(p))[first + part];
          };
          const std::int64_t from = first * columns.x_step;
          float* sum = out.row(i) + first * columns.out_step;
          sum_list(lists, i, weight, x.data + from, x.width, columns.width, parts, sum);
          if (i >= own_weights.count) continue;
          for (std::int64_t h = first; h < first + parts.count; ++h) {
            const auto* own = x.row(i) + h * columns.x_step;
            cpu::add_scaled(sum, own, own_weights.row(i)[h], columns.width);
          }
        }
      }
    };
    const std::int64_t elements = columns.heads * columns.width;
    cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * elements, work);
  });
}

void segment_edge_sum(const Executor& executor,
                      const RowLists& lists,
                      Rows<const float> values,
                      Rows<float> out) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* sum = out.row(i);
      std::fill_n(sum, out.width, 0.0f);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        cpu::add(sum, values.row(lists.edge(p)), out.width);
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * out.width, work);
}

}  // namespace sluice::kernels
