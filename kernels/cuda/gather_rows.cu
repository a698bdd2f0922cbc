#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

__global__ void gather(std::int64_t count,
                       Rows<const float> x,
                       const std::int64_t* index,
                       Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const float* from = x.row(index[i]);
  for (std::int64_t c = lane(); c < out.width; c += kLanes) out.row(i)[c] = from[c];
}

}  // namespace

void gather_rows(const Executor& executor,
                 Rows<const float> x,
                 const std::int64_t* index,
                 Rows<float> out) {
  launch_rows("gather_rows", executor, out.count, &gather, x, index, out);
}

}  // namespace sluice::kernels::cuda
