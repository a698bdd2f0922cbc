#include "kernels/edge_pairs.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

namespace sluice::kernels {

void edge_add(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              Rows<const float> from_item,
              Rows<float> out) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* a = from_list.row(i);
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        const float* b = from_item.row(lists.items[p]);
        float* sum = out.row(lists.edge(p));
        for (std::int64_t h = 0; h < out.width; ++h) sum[h] = a[h] + b[h];
      }
    }
  };
  cpu::for_rows(executor, lists.count, lists.num_items() * out.width, work);
}

void edge_dot(const Executor& executor,
              const RowLists& lists,
              Rows<const float> from_list,
              FloatRows any_item,
              Rows<float> out) {
  const std::int64_t heads = out.width;
  const std::int64_t head_width = heads == 0 ? 0 : from_list.width / heads;
  any_item.visit([&](auto from_item) {
    const std::int64_t step = from_item.width == from_list.width ? head_width : 0;
    const auto work = [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* a = from_list.row(i);
        for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
          const auto* b = from_item.row(lists.items[p]);
          float* dots = out.row(lists.edge(p));
          for (std::int64_t h = 0; h < heads; ++h)
            dots[h] = cpu::dot(a + h * head_width, b + h * step, head_width);
        }
      }
    };
    cpu::for_rows(executor, lists.count, lists.num_items() * from_list.width, work);
  });
}

}  // namespace sluice::kernels
