#include "nn/complex_distance.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kGrain = 1;  // a row beside all others is work enough

// Rows of k complex numbers: `re` and, k further on, `im`.
struct Complexes {
  const float* data;
  std::int64_t rows, k;
  const float* row(std::int64_t at) const { return data + 2 * k * at; }
};

Complexes complexes(const Tensor& matrix) {
  return {matrix.data_ptr<float>(), matrix.size(0), matrix.size(1) / 2};
}

float distance(const float* a, const float* b, std::int64_t k) {
  // Sums side by side, so that the loop may run on vectors: their order is part of the result.
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const float re = a[i + lane] - b[i + lane], im = a[k + i + lane] - b[k + i + lane];
      lanes[lane] += std::sqrt(re * re + im * im);
    }
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < k; ++i) {
    const float re = a[i] - b[i], im = a[k + i] - b[k + i];
    sum += std::sqrt(re * re + im * im);
  }
  return sum;
}

// out += scale * (a - b) / |a - b|, number by number.
void add_direction(
    const float* a, const float* b, float scale, std::int64_t k, float* __restrict out) {
  constexpr float kLeast = 1e-30f;
  for (std::int64_t i = 0; i < k; ++i) {
    const float re = a[i] - b[i], im = a[k + i] - b[k + i];
    const float by = scale / std::sqrt(std::max(re * re + im * im, kLeast));
    out[i] += re * by;
    out[k + i] += im * by;
  }
}

// Of the distances' gradient [n, m]: what it is for x, each row's by itself.
Tensor gradient_of(const Tensor& x, const Tensor& y, const Tensor& gradient) {
  Tensor out = torch::zeros_like(x);
  const Complexes from = complexes(x), to = complexes(y);
  const float* by = gradient.data_ptr<float>();
  float* rows = out.data_ptr<float>();
  at::parallel_for(0, from.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < to.rows; ++j)
        add_direction(from.row(i), to.row(j), by[i * to.rows + j], from.k, rows + 2 * from.k * i);
  });
  return out;
}

struct ComplexDistance : torch::autograd::Function<ComplexDistance> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& y) {
    const Tensor left = x.contiguous(), right = y.contiguous();
    context->save_for_backward({left, right});
    Tensor out = torch::empty({left.size(0), right.size(0)}, left.options());
    const Complexes from = complexes(left), to = complexes(right);
    float* to_write = out.data_ptr<float>();
    at::parallel_for(0, from.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < to.rows; ++j)
          to_write[i * to.rows + j] = distance(from.row(i), to.row(j), from.k);
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Tensor gradient = grads[0].contiguous();
    Tensor of_x, of_y;
    if (context->needs_input_grad(0)) of_x = gradient_of(saved[0], saved[1], gradient);
    if (context->needs_input_grad(1))
      of_y = gradient_of(saved[1], saved[0], gradient.t().contiguous());
    return {of_x, of_y};
  }
};

// Where the loops above cannot run: by LibTorch's operations, in one piece.
Tensor by_tensors(const Tensor& x, const Tensor& y) {
  constexpr double kLeast = 1e-30;
  const auto a = x.unsqueeze(1).chunk(2, 2), b = y.unsqueeze(0).chunk(2, 2);
  return ((a[0] - b[0]).square() + (a[1] - b[1]).square()).clamp_min(kLeast).sqrt().sum(2);
}

}  // namespace

Tensor complex_distance(const Tensor& x, const Tensor& y) {
  if (!x.is_cpu() || x.scalar_type() != torch::kFloat32) return by_tensors(x, y);
  return ComplexDistance::apply(x, y);
}

}  // namespace sluice::nn
