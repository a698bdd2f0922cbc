// A lane sums its columns of a row in list order, one product and one sum at a time: the bits of
// the CPU.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

template <class T>
__global__ void sum(
    std::int64_t count, RowLists lists, SegmentScales scales, Rows<const T> x, Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t first = lists.offsets[i], last = lists.offsets[i + 1];
  for (std::int64_t c = lane(); c < x.width; c += kLanes) {
    float total = 0;
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t item = lists.items[p];
      const float value = widen(x.row(item)[c]);
      total += scales.item == nullptr ? value : scales.item[item] * value;
    }
    if (scales.list != nullptr) total *= scales.list[i];
    if (i < scales.own_count) total += scales.own[i] * widen(x.row(i)[c]);
    out.row(i)[c] = total;
  }
}

template <class T>
__global__ void weighted_sum(std::int64_t count,
                             RowLists lists,
                             Rows<const float> weights,
                             Rows<const float> own_weights,
                             Rows<const T> x,
                             HeadColumns columns,
                             Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t begin = lists.offsets[i], end = lists.offsets[i + 1];
  const std::int64_t added_up = columns.out_step == 0 ? columns.heads : 1;
  for (std::int64_t c = lane(); c < out.width; c += kLanes) {
    const std::int64_t first = c / columns.width, last = first + added_up;
    const std::int64_t column = c % columns.width;
    float total = 0;
    for (std::int64_t head = first; head < last; ++head) {
      const std::int64_t at = head * columns.x_step + column;
      for (std::int64_t p = begin; p < end; ++p)
        total += weights.row(lists.edge(p))[head] * widen(x.row(lists.items[p])[at]);
    }
    if (i < own_weights.count) {
      for (std::int64_t head = first; head < last; ++head)
        total += own_weights.row(i)[head] * widen(x.row(i)[head * columns.x_step + column]);
    }
    out.row(i)[c] = total;
  }
}

__global__ void edge_sum(std::int64_t count,
                         RowLists lists,
                         Rows<const float> values,
                         Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t first = lists.offsets[i], last = lists.offsets[i + 1];
  for (std::int64_t c = lane(); c < out.width; c += kLanes) {
    float total = 0;
    for (std::int64_t p = first; p < last; ++p) total += values.row(lists.edge(p))[c];
    out.row(i)[c] = total;
  }
}

}  // namespace

void segment_sum(const Executor& executor,
                 const RowLists& lists,
                 const SegmentScales& scales,
                 FloatRows any,
                 Rows<float> out) {
  any.visit([&]<class T>(Rows<const T> x) {
    launch_rows("segment_sum", executor, lists.count, &sum<T>, lists, scales, x, out);
  });
}

void segment_weighted_sum(const Executor& executor,
                          const RowLists& lists,
                          Rows<const float> weights,
                          Rows<const float> own_weights,
                          FloatRows any,
                          Rows<float> out) {
  any.visit([&]<class T>(Rows<const T> x) {
    launch_rows("segment_weighted_sum",
                executor,
                lists.count,
                &weighted_sum<T>,
                lists,
                weights,
                own_weights,
                x,
                HeadColumns(weights.width, x.width, out.width),
                out);
  });
}

void segment_edge_sum(const Executor& executor,
                      const RowLists& lists,
                      Rows<const float> values,
                      Rows<float> out) {
  launch_rows("segment_edge_sum", executor, lists.count, &edge_sum, lists, values, out);
}

}  // namespace sluice::kernels::cuda
