#include "kernels/dropout.h"

#include "kernels/cpu/parallel.h"

namespace sluice::kernels {

void dropout(const Executor& executor,
             RandomKey key,
             double rate,
             const float* x,
             float* out,
             std::int64_t count) {
  // A draw serves two elements, 32 bits each.
  const auto threshold = static_cast<std::uint64_t>(rate * 0x1.0p32);
  const auto factor = static_cast<float>(1.0 / (1.0 - rate));
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const std::uint64_t bits = key.draw(static_cast<std::uint64_t>(pair));
      const std::int64_t i = 2 * pair;
      out[i] = (bits & 0xffffffffu) < threshold ? 0.0f : x[i] * factor;
      if (i + 1 < count) out[i + 1] = (bits >> 32) < threshold ? 0.0f : x[i + 1] * factor;
    }
  };
  cpu::for_rows(executor, (count + 1) / 2, 2 * count, work);
}

}  // namespace sluice::kernels
