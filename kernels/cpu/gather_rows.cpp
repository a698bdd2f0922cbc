#include "kernels/gather_rows.h"

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"

#include <algorithm>

namespace sluice::kernels {
namespace {

constexpr std::int64_t kRowsAhead = 8;  // rows that are fetched before they are copied

template <class T>
SLUICE_INLINE void copy_row(const T* from, std::int64_t width, float* to) {
  std::int64_t c = 0;
  for (; c + cpu::kLanes <= width; c += cpu::kLanes) cpu::store(to + c, cpu::load(from + c));
  for (; c < width; ++c) to[c] = widen(from[c]);
}

}  // namespace

void gather_rows(const Executor& executor,
                 FloatRows any,
                 const std::int64_t* index,
                 Rows<float> out) {
  any.visit([&](auto x) {
    constexpr std::int64_t kLine = 64 / sizeof(*x.data);  // elements of a cache line
    const auto work = [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto* ahead = x.row(index[std::min(i + kRowsAhead, out.count - 1)]);
        for (std::int64_t c = 0; c < out.width; c += kLine) __builtin_prefetch(ahead + c);
        copy_row(x.row(index[i]), out.width, out.row(i));
      }
    };
    cpu::for_rows(executor, out.count, out.count * out.width, work);
  });
}

}  // namespace sluice::kernels
