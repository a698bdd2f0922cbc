// A warp a list: its edges and heads side by side over the lanes.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

#include <bit>

namespace sluice::kernels::cuda {
namespace {

// Which edge stands at a place where edges and heads are side by side. A division of 64 bits takes
// longer than all else that is done for an edge: it is a shift for one head, or two, four, ...
class EdgeOf {
 public:
  explicit EdgeOf(std::int64_t heads)
      : heads_(heads),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(heads))
                   ? std::countr_zero(static_cast<std::uint64_t>(heads))
                   : -1) {}
  __device__ std::int64_t operator()(std::int64_t at) const {
    return shift_ >= 0 ? at >> shift_ : at / heads_;
  }

 private:
  std::int64_t heads_;
  int shift_;
};

__global__ void add(std::int64_t count,
                    RowLists lists,
                    Rows<const float> from_list,
                    Rows<const float> from_item,
                    EdgeOf edge_of,
                    Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t heads = out.width;
  const std::int64_t last = lists.offsets[i + 1] * heads;
  for (std::int64_t at = lists.offsets[i] * heads + lane(); at < last; at += kLanes) {
    const std::int64_t p = edge_of(at), h = at - p * heads;
    out.row(lists.edge(p))[h] = from_list.row(i)[h] + from_item.row(lists.items[p])[h];
  }
}

// The CPU's sixteen running sums and their tree, one a lane: two edges a warp at a time.
constexpr int kSums = 16;

template <class T>
__global__ void dot(std::int64_t count,
                    RowLists lists,
                    Rows<const float> from_list,
                    Rows<const T> from_item,
                    EdgeOf edge_of,
                    Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t heads = out.width, head_width = from_list.width / heads;
  const std::int64_t step = from_item.width == from_list.width ? head_width : 0;
  const std::int64_t first = lists.offsets[i] * heads, last = lists.offsets[i + 1] * heads;
  const int half = lane() / kSums, mine = lane() % kSums;
  for (std::int64_t pair = first; pair < last; pair += kLanes / kSums) {
    const std::int64_t at = pair + half;
    const bool real = at < last;
    const std::int64_t p = edge_of(at), h = at - p * heads;
    float total = 0;
    if (real) {
      const float* a = from_list.row(i) + h * head_width;
      const T* b = from_item.row(lists.items[p]) + h * step;
      for (std::int64_t c = mine; c < head_width; c += kSums) total += a[c] * widen(b[c]);
    }
    for (int step = kSums / 2; step > 0; step /= 2)
      total += __shfl_down_sync(0xffffffffu, total, static_cast<unsigned int>(step), kSums);
    if (real && mine == 0) out.row(lists.edge(p))[h] = total;
  }
}

}  // namespace

void edge_add(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              Rows<const float> from_item,
              Rows<float> out) {
  launch_rows(
      "edge_add", executor, lists.count, &add, lists, from_list, from_item, EdgeOf(out.width), out);
}

void edge_dot(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              FloatRows any_item,
              Rows<float> out) {
  any_item.visit([&]<class T>(Rows<const T> from_item) {
    launch_rows("edge_dot",
                executor,
                lists.count,
                &dot<T>,
                lists,
                from_list,
                from_item,
                EdgeOf(out.width),
                out);
  });
}

}  // namespace sluice::kernels::cuda
