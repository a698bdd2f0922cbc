#include "kernels/gather_rows.h"

#include "kernels/cpu/parallel.h"

#include <algorithm>

namespace sluice::kernels {
namespace {

constexpr std::int64_t kAhead = 8;                  // rows that are fetched before they are copied
constexpr std::int64_t kLine = 64 / sizeof(float);  // elements of a cache line

}  // namespace

void gather_rows(const Executor& executor,
                 Rows<const float> x,
                 const std::int64_t* index,
                 Rows<float> out) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* ahead = x.row(index[std::min(i + kAhead, out.count - 1)]);
      for (std::int64_t c = 0; c < out.width; c += kLine) __builtin_prefetch(ahead + c);
      std::copy_n(x.row(index[i]), out.width, out.row(i));
    }
  };
  cpu::for_rows(executor, out.count, out.count * out.width, work);
}

}  // namespace sluice::kernels
