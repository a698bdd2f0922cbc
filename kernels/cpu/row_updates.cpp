#include "kernels/row_updates.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#ifdef SLUICE_X86
#include <xmmintrin.h>
#endif

namespace sluice::kernels {
namespace {

constexpr std::int64_t kUpdatedRowsAhead = 4;  // rows that are fetched before they are updated

// Of lanes, or of one element of what is left over. Roots are the processor's: std::sqrt sets
// errno, which no compiler makes vectors of.
template <class V>
SLUICE_INLINE V load_as(const float* from) {
  if constexpr (std::is_same_v<V, float>) {
    return *from;
  } else {
    return cpu::load(from);
  }
}
SLUICE_INLINE void store_at(float* to, float value) {
  *to = value;
}
SLUICE_INLINE void store_at(float* to, const cpu::Lanes& values) {
  cpu::store(to, values);
}
SLUICE_INLINE float root_of(float value) {
  return std::sqrt(value);
}
SLUICE_INLINE cpu::Lanes root_of(const cpu::Lanes& values) {
  cpu::Lanes roots;
#ifdef SLUICE_X86
  for (std::size_t part = 0; part < sizeof values / sizeof(__m128); ++part)
    reinterpret_cast<__m128*>(&roots)[part] =
        _mm_sqrt_ps(reinterpret_cast<const __m128*>(&values)[part]);
#else
  for (std::int64_t lane = 0; lane < cpu::kLanes; ++lane) roots[lane] = std::sqrt(values[lane]);
#endif
  return roots;
}

/// step(column, lanes or a float) until all columns are done.
template <class Step>
SLUICE_INLINE void for_each_column(std::int64_t width, const Step& step) {
  std::int64_t c = 0;
  for (; c + cpu::kLanes <= width; c += cpu::kLanes) step(c, cpu::Lanes{});
  for (; c < width; ++c) step(c, 0.0f);
}

/// update(values, state, gradient) of every row; `width` values and `state_width` floats of state.
template <class Update>
void update_rows(const Executor& executor,
                 float* const* rows,
                 Rows<const float> gradients,
                 std::int64_t state_width,
                 const Update& update) {
  const std::int64_t width = gradients.width;
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* ahead = rows[std::min(i + kUpdatedRowsAhead, gradients.count - 1)];
      for (std::int64_t c = 0; c < width + state_width; c += 16) __builtin_prefetch(ahead + c, 1);
      update(rows[i], rows[i] + width, gradients.row(i));
    }
  };
  cpu::for_rows(executor, gradients.count, gradients.count * (2 * width + state_width), work);
}

}  // namespace

void sgd_rows(const Executor& executor, float* const* rows, Rows<const float> gradients, float lr) {
  const std::int64_t width = gradients.width;
  update_rows(executor, rows, gradients, 0, [=](float* value, float*, const float* gradient) {
    for_each_column(width, [=]<class V>(std::int64_t c, const V&) {
      store_at(value + c, load_as<V>(value + c) - lr * load_as<V>(gradient + c));
    });
  });
}

void adagrad_rows(const Executor& executor,
                  float* const* rows,
                  Rows<const float> gradients,
                  AdagradStep step) {
  const std::int64_t width = gradients.width;
  update_rows(
      executor, rows, gradients, width, [=](float* value, float* sums, const float* gradient) {
        for_each_column(width, [=]<class V>(std::int64_t c, const V&) {
          const V g = load_as<V>(gradient + c);
          const V sum = load_as<V>(sums + c) + g * g;
          store_at(sums + c, sum);
          store_at(value + c, load_as<V>(value + c) - step.lr * g / (root_of(sum) + step.epsilon));
        });
      });
}

void adagrad_mean_rows(const Executor& executor,
                       float* const* rows,
                       Rows<const float> gradients,
                       AdagradStep step) {
  const std::int64_t width = gradients.width;
  update_rows(executor, rows, gradients, 1, [=](float* value, float* sum, const float* gradient) {
    *sum += cpu::dot(gradient, gradient, width) / static_cast<float>(width);
    const float scale = step.lr / (root_of(*sum) + step.epsilon);
    for_each_column(width, [=]<class V>(std::int64_t c, const V&) {
      store_at(value + c, load_as<V>(value + c) - scale * load_as<V>(gradient + c));
    });
  });
}

void adam_rows(const Executor& executor,
               float* const* rows,
               Rows<const float> gradients,
               AdamStep step) {
  const std::int64_t width = gradients.width;
  const auto beta1 = static_cast<float>(step.beta1), rest1 = static_cast<float>(1 - step.beta1);
  const auto beta2 = static_cast<float>(step.beta2), rest2 = static_cast<float>(1 - step.beta2);
  update_rows(
      executor,
      rows,
      gradients,
      2 * width + 1,
      [=](float* value, float* state, const float* gradient) {
        float* second = state + width;
        float& count = state[2 * width];
        count = std::min(count + 1, kMostAdamSteps);
        const auto steps = static_cast<std::uint32_t>(count);
        const auto lr = static_cast<float>(step.lr / (1 - power_of(step.beta1, steps)));
        const auto root = static_cast<float>(1 / std::sqrt(1 - power_of(step.beta2, steps)));
        for_each_column(width, [=]<class V>(std::int64_t c, const V&) {
          const V g = load_as<V>(gradient + c);
          const V moment1 = beta1 * load_as<V>(state + c) + rest1 * g;
          const V moment2 = beta2 * load_as<V>(second + c) + rest2 * (g * g);
          store_at(state + c, moment1);
          store_at(second + c, moment2);
          store_at(value + c,
                   load_as<V>(value + c) - lr * moment1 / (root_of(moment2) * root + step.epsilon));
        });
      });
}

}  // namespace sluice::kernels
