#include "kernels/segment_sum.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include <algorithm>

namespace sluice::kernels {

void segment_sum(const Executor& executor,
                 const RowLists& lists,
                 const SegmentScales& scales,
                 Rows<const float> x,
                 Rows<float> out) {
  const std::int64_t width = x.width;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* sum = out.row(i);
      std::fill_n(sum, width, 0.0f);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        const std::int64_t item = lists.items[p];
        if (scales.item == nullptr) {
          cpu::add(sum, x.row(item), width);
        } else {
          cpu::add_scaled(sum, x.row(item), scales.item[item], width);
        }
      }
      if (scales.list != nullptr) cpu::scale(sum, scales.list[i], width);
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * width, work);
}

void segment_weighted_sum(const Executor& executor,
                          const RowLists& lists,
                          Rows<const float> weights,
                          Rows<const float> x,
                          Rows<float> out) {
  const std::int64_t heads = weights.width;
  const std::int64_t head_width = heads == 0 ? 0 : x.width / heads;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* sum = out.row(i);
      std::fill_n(sum, out.width, 0.0f);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        const float* weight = weights.row(lists.edge(p));
        const float* row = x.row(lists.items[p]);
        for (std::int64_t h = 0; h < heads; ++h) {
          cpu::add_scaled(sum + h * head_width, row + h * head_width, weight[h], head_width);
        }
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * x.width, work);
}

void segment_edge_sum(const Executor& executor,
                      const RowLists& lists,
                      Rows<const float> values,
                      Rows<float> out) {
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* sum = out.row(i);
      std::fill_n(sum, out.width, 0.0f);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        cpu::add(sum, values.row(lists.edge(p)), out.width);
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * out.width, work);
}

}  // namespace sluice::kernels
