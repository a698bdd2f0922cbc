#include "kernels/segment_max.h"

#include "kernels/cpu/parallel.h"

#include <algorithm>

namespace sluice::kernels {

void segment_max(const Executor& executor,
                 const RowLists& lists,
                 Rows<const float> x,
                 Rows<float> out,
                 Rows<std::int32_t> winner) {
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* best = out.row(i);
      std::int32_t* edge = winner.row(i);
      std::fill_n(best, out.width, 0.0f);
      std::fill_n(edge, out.width, -1);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        const float* row = x.row(lists.items[p]);
        const auto id = static_cast<std::int32_t>(lists.edge(p));
        for (std::int64_t c = 0; c < out.width; ++c) {
          const bool wins = edge[c] < 0 || row[c] > best[c];
          best[c] = wins ? row[c] : best[c];
          edge[c] = wins ? id : edge[c];
        }
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * out.width, work);
}

void segment_max_backward(const Executor& executor,
                          const RowLists& transposed,
                          Rows<const std::int32_t> winner,
                          Rows<const float> grad_out,
                          Rows<float> grad_x) {
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      float* sum = grad_x.row(s);
      std::fill_n(sum, grad_x.width, 0.0f);
      for (std::int64_t p = transposed.offsets[s]; p < transposed.offsets[s + 1]; ++p) {
        const std::int32_t* edge = winner.row(transposed.items[p]);
        const float* grad = grad_out.row(transposed.items[p]);
        const auto id = static_cast<std::int32_t>(transposed.edge(p));
        for (std::int64_t c = 0; c < grad_x.width; ++c) sum[c] += edge[c] == id ? grad[c] : 0.0f;
      }
    }
  };
  cpu::for_rows(
      executor, transposed.count, (transposed.num_items() + transposed.count) * grad_x.width, work);
}

}  // namespace sluice::kernels
