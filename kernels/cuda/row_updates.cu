// A warp a row. State that a whole row shares is read by all lanes before the first writes it.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

__global__ void sgd(std::int64_t count, float* const* rows, Rows<const float> gradients, float lr) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  for (std::int64_t c = lane(); c < gradients.width; c += kLanes)
    rows[i][c] -= lr * gradients.row(i)[c];
}

__global__ void adagrad(std::int64_t count,
                        float* const* rows,
                        Rows<const float> gradients,
                        AdagradStep step) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  float* value = rows[i];
  float* sum = value + gradients.width;
  for (std::int64_t c = lane(); c < gradients.width; c += kLanes) {
    const float g = gradients.row(i)[c];
    const float total = sum[c] + g * g;
    sum[c] = total;
    value[c] -= step.lr * g / (sqrtf(total) + step.epsilon);
  }
}

// The CPU's sixteen running sums and their tree, in the first lanes.
constexpr int kMeanSums = 16;

__global__ void adagrad_mean(std::int64_t count,
                             float* const* rows,
                             Rows<const float> gradients,
                             AdagradStep step) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t width = gradients.width;
  const float* gradient = gradients.row(i);
  float* value = rows[i];
  float total = 0;
  if (lane() < kMeanSums)
    for (std::int64_t c = lane(); c < width; c += kMeanSums) total += gradient[c] * gradient[c];
  for (int half = kMeanSums / 2; half > 0; half /= 2)
    total += __shfl_down_sync(0xffffffffu, total, static_cast<unsigned int>(half), kMeanSums);
  total = __shfl_sync(0xffffffffu, total, 0);
  const float sum = value[width] + total / static_cast<float>(width);
  __syncwarp();
  if (lane() == 0) value[width] = sum;
  const float scale = step.lr / (sqrtf(sum) + step.epsilon);
  for (std::int64_t c = lane(); c < width; c += kLanes) value[c] -= scale * gradient[c];
}

__global__ void adam(std::int64_t count,
                     float* const* rows,
                     Rows<const float> gradients,
                     AdamStep step) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::int64_t width = gradients.width;
  float* value = rows[i];
  float* first = value + width;
  float* second = first + width;
  float* taken = second + width;
  const float before = *taken;
  const float now = before + 1 < kMostAdamSteps ? before + 1 : kMostAdamSteps;
  __syncwarp();
  if (lane() == 0) *taken = now;
  const auto steps = static_cast<std::uint32_t>(now);
  const auto lr = static_cast<float>(step.lr / (1 - power_of(step.beta1, steps)));
  const auto root = static_cast<float>(1 / sqrt(1 - power_of(step.beta2, steps)));
  const auto beta1 = static_cast<float>(step.beta1), rest1 = static_cast<float>(1 - step.beta1);
  const auto beta2 = static_cast<float>(step.beta2), rest2 = static_cast<float>(1 - step.beta2);
  for (std::int64_t c = lane(); c < width; c += kLanes) {
    const float g = gradients.row(i)[c];
    const float moment1 = beta1 * first[c] + rest1 * g;
    const float moment2 = beta2 * second[c] + rest2 * (g * g);
    first[c] = moment1;
    second[c] = moment2;
    value[c] -= lr * moment1 / (sqrtf(moment2) * root + step.epsilon);
  }
}

}  // namespace

void sgd_rows(const Executor& executor, float* const* rows, Rows<const float> gradients, float lr) {
  launch_rows("sgd_rows", executor, gradients.count, &sgd, rows, gradients, lr);
}

void adagrad_rows(const Executor& executor,
                  float* const* rows,
                  Rows<const float> gradients,
                  AdagradStep step) {
  launch_rows("adagrad_rows", executor, gradients.count, &adagrad, rows, gradients, step);
}

void adagrad_mean_rows(const Executor& executor,
                       float* const* rows,
                       Rows<const float> gradients,
                       AdagradStep step) {
  launch_rows("adagrad_mean_rows", executor, gradients.count, &adagrad_mean, rows, gradients, step);
}

void adam_rows(const Executor& executor,
               float* const* rows,
               Rows<const float> gradients,
               AdamStep step) {
  launch_rows("adam_rows", executor, gradients.count, &adam, rows, gradients, step);
}

}  // namespace sluice::kernels::cuda
