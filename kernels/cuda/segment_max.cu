#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

template <class T>
__global__ void max_of(std::int64_t count,
                       RowLists lists,
                       Rows<const T> x,
                       Rows<float> out,
                       Rows<std::int32_t> winner) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t first = lists.offsets[i], last = lists.offsets[i + 1];
  for (std::int64_t c = lane(); c < out.width; c += kLanes) {
    float best = 0;
    std::int32_t edge = -1;
    for (std::int64_t p = first; p < last; ++p) {
      const float value = widen(x.row(lists.items[p])[c]);
      const bool first_nan = value != value && best == best;
      if (edge >= 0 && !(value > best) && !first_nan) continue;
      best = value;
      edge = static_cast<std::int32_t>(lists.edge(p));
    }
    out.row(i)[c] = best;
    winner.row(i)[c] = edge;
  }
}

__global__ void follow_winners(std::int64_t count,
                               RowLists transposed,
                               Rows<const std::int32_t> winner,
                               Rows<const float> grad_out,
                               Rows<float> grad_x) {
  const std::int64_t s = warp_row();
  if (s >= count) return;
  const std::int64_t first = transposed.offsets[s], last = transposed.offsets[s + 1];
  for (std::int64_t c = lane(); c < grad_x.width; c += kLanes) {
    float total = 0;
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t target = transposed.items[p];
      const bool won = winner.row(target)[c] == transposed.edge(p);
      total += won ? grad_out.row(target)[c] : 0.0f;
    }
    grad_x.row(s)[c] = total;
  }
}

}  // namespace

void segment_max(const Executor& executor,
                 const RowLists& lists,
                 FloatRows any,
                 Rows<float> out,
                 Rows<std::int32_t> winner) {
  any.visit([&]<class T>(Rows<const T> x) {
    launch_rows("segment_max", executor, lists.count, &max_of<T>, lists, x, out, winner);
  });
}

void segment_max_backward(const Executor& executor,
                          const RowLists&,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x) {
  launch_rows("segment_max_backward",
              executor,
              transposed.count,
              &follow_winners,
              transposed,
              winner,
              grad_out,
              grad_x);
}

}  // namespace sluice::kernels::cuda
