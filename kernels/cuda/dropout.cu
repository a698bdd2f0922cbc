#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

// A draw serves two elements, 32 bits each, as on the CPU.
__global__ void drop(std::int64_t pairs,
                     RandomKey key,
                     std::uint64_t threshold,
                     float factor,
                     const float* x,
                     float* out,
                     std::int64_t count) {
  const std::int64_t pair = thread_element();
  if (pair >= pairs) return;
  const std::uint64_t bits = key.draw(static_cast<std::uint64_t>(pair));
  const std::int64_t i = 2 * pair;
  out[i] = (bits & 0xffffffffu) < threshold ? 0.0f : x[i] * factor;
  if (i + 1 < count) out[i + 1] = (bits >> 32) < threshold ? 0.0f : x[i + 1] * factor;
}

}  // namespace

void dropout(const Executor& executor,
             RandomKey key,
             double rate,
             const float* x,
             float* out,
             std::int64_t count) {
  const auto threshold = static_cast<std::uint64_t>(rate * 0x1.0p32);
  const auto factor = static_cast<float>(1.0 / (1.0 - rate));
  launch_elements(
      "dropout", executor, (count + 1) / 2, &drop, key, threshold, factor, x, out, count);
}

}  // namespace sluice::kernels::cuda
