#include "kernels/gather_rows.h"

#include "kernels/cpu/parallel.h"

#include <algorithm>

namespace sluice::kernels {

void gather_rows(const Executor& executor,
                 Rows<const float> x,
                 const std::int64_t* index,
                 Rows<float> out) {
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(x.row(index[i]), out.width, out.row(i));
    }
  };
  cpu::for_rows(executor, out.count, out.count * out.width, work);
}

}  // namespace sluice::kernels
