// One step of a sparse optimizer: rows of values, each with its state beside it, and a gradient a
// row. Gradients of repeated ids are summed first (segment_sum over the positions of each id).
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

#include <cstdint>

namespace sluice::kernels {

// rows[i] is where row i begins, at any address of a float that the kernel may write to: the
// values, gradients.width of them, then the state. Rows are distinct.

/// value -= lr * g. No state.
void sgd_rows(const Executor& executor, float* const* rows, Rows<const float> gradients, float lr);

struct AdagradStep {
  float lr, epsilon;
};

/// State: a sum an element. sum += g^2; value -= lr * g / (sqrt(sum) + epsilon).
void adagrad_rows(const Executor& executor,
                  float* const* rows,
                  Rows<const float> gradients,
                  AdagradStep step);

/// State: one sum, of the means of g^2. sum += mean(g^2); value -= lr / (sqrt(sum) + epsilon) * g.
void adagrad_mean_rows(const Executor& executor,
                       float* const* rows,
                       Rows<const float> gradients,
                       AdagradStep step);

struct AdamStep {
  double lr, beta1, beta2;
  float epsilon;
};

/// State: a first moment an element, a second one, and how many steps the row has had (a float,
/// which counts to kMostAdamSteps; by then the corrections are 1).
void adam_rows(const Executor& executor,
               float* const* rows,
               Rows<const float> gradients,
               AdamStep step);

inline constexpr float kMostAdamSteps = 1 << 24;

/// base^exponent by products alone, so that a CPU and a GPU give the same bits.
constexpr double power_of(double base, std::uint32_t exponent) {
  double result = 1, square = base;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

}  // namespace sluice::kernels
