#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

template <class T>
__global__ void gather(std::int64_t count,
                       Rows<const T> x,
                       const std::int64_t* index,
                       Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const T* from = x.row(index[i]);
  for (std::int64_t c = lane(); c < out.width; c += kLanes) out.row(i)[c] = widen(from[c]);
}

}  // namespace

void gather_rows(const Executor& executor,
                 FloatRows any,
                 const std::int64_t* index,
                 Rows<float> out) {
  any.visit([&]<class T>(Rows<const T> x) {
    launch_rows("gather_rows", executor, out.count, &gather<T>, x, index, out);
  });
}

}  // namespace sluice::kernels::cuda
