// A warp a row. The exponential is the GPU's own, and a row's sum is the lanes' in a tree: both may
// differ from the CPU's in the last bits.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

__device__ float none() {
  return -__int_as_float(0x7f800000);
}

__device__ bool counts(const Flags& counted, std::int64_t row, std::int64_t column) {
  return counted.data == nullptr || counted.row(row)[column] != 0;
}

__global__ void sums(std::int64_t rows,
                     Rows<const float> scores,
                     Flags counted,
                     RunningSoftmax so_far) {
  const std::int64_t i = warp_row();
  if (i >= rows) return;
  const float before = so_far.highest[i];
  float highest = before;
  for (std::int64_t c = lane(); c < scores.width; c += kLanes)
    if (counts(counted, i, c)) {
      const float score = scores.row(i)[c];
      highest = highest > score ? highest : score;
    }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, highest, half);
    highest = highest > other ? highest : other;
  }
  // All lanes go on together, whatever NaN has made of their maxima.
  const float base = highest == none() ? 0.0f : highest;
  float sum = 0;
  for (std::int64_t c = lane(); c < scores.width; c += kLanes)
    if (counts(counted, i, c)) sum += expf(scores.row(i)[c] - base);
  for (int half = kLanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
  if (lane() != 0) return;
  so_far.sum[i] = so_far.sum[i] * expf(before - base) + sum;
  so_far.highest[i] = highest;
}

__global__ void shares_of(std::int64_t elements,
                          Rows<const float> scores,
                          Flags counted,
                          const float* log_sums,
                          const float* by,
                          Rows<float> shares) {
  const std::int64_t at = thread_element();
  if (at >= elements) return;
  const std::int64_t i = at / scores.width, c = at % scores.width;
  const bool shared = counts(counted, i, c) && log_sums[i] != none();
  shares.row(i)[c] = shared ? by[i] * expf(scores.row(i)[c] - log_sums[i]) : 0.0f;
}

}  // namespace

void softmax_sums(const Executor& executor,
                  Rows<const float> scores,
                  Flags counted,
                  RunningSoftmax so_far) {
  launch_rows("softmax_sums", executor, scores.count, &sums, scores, counted, so_far);
}

void softmax_shares(const Executor& executor,
                    Rows<const float> scores,
                    Flags counted,
                    const float* log_sums,
                    const float* by,
                    Rows<float> shares) {
  launch_elements("softmax_shares",
                  executor,
                  scores.count * scores.width,
                  &shares_of,
                  scores,
                  counted,
                  log_sums,
                  by,
                  shares);
}

}  // namespace sluice::kernels::cuda
