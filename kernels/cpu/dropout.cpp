#include "kernels/dropout.h"

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"

#include <bit>
#include <cstring>

namespace sluice::kernels {
namespace {

// A draw serves two elements, the lower half of its bits the first.
constexpr std::int64_t kDraws = cpu::kLanes / 2;
static_assert(std::endian::native == std::endian::little);
using Bits = std::uint32_t __attribute__((vector_size(kDraws * sizeof(std::uint64_t))));

}  // namespace

void dropout(const Executor& executor,
             RandomKey key,
             double rate,
             const float* x,
             float* out,
             std::int64_t count) {
  const auto threshold = static_cast<std::uint32_t>(rate * 0x1.0p32);
  const auto factor = static_cast<float>(1.0 / (1.0 - rate));
  // Of sixteen elements each; the last may be short.
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      std::uint64_t draws[kDraws];
      for (std::int64_t d = 0; d < kDraws; ++d)
        draws[d] = key.draw(static_cast<std::uint64_t>(piece * kDraws + d));
      Bits bits;
      std::memcpy(&bits, draws, sizeof bits);
      const cpu::IntLanes drops = bits < threshold;
      const std::int64_t first = piece * cpu::kLanes;
      if (first + cpu::kLanes <= count) {
        const cpu::Lanes kept = cpu::load(x + first) * factor;
        cpu::store(out + first, drops ? cpu::Lanes{} : kept);
      } else {
        for (std::int64_t i = 0; first + i < count; ++i)
          out[first + i] = drops[i] != 0 ? 0.0f : x[first + i] * factor;
      }
    }
  };
  cpu::for_rows(executor, (count + cpu::kLanes - 1) / cpu::kLanes, 2 * count, work);
}

}  // namespace sluice::kernels
