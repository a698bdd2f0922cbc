#include "nn/dense_product.h"

#include "core/cpu_isa.h"

#include <algorithm>
#include <bit>
#include <cstdint>

// Of LibTorch, though none of its headers has it: out = beta out + alpha a b by oneDNN, in f32. One
// without it makes all products its own way.
namespace at::native {
__attribute__((weak, visibility("default"))) void mkldnn_matmul(
    const Tensor& a, const Tensor& b, const Tensor& out, float beta, float alpha);
}  // namespace at::native

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

enum class Onto { kNothing, kSum };

// LibTorch refuses the call where it thinks the processor unfit: that is found out, not foreseen.
bool works() {
  const torch::NoGradGuard no_grad;
  const Tensor a = torch::ones({8, 8}), out = torch::empty({8, 8});
  try {
    at::native::mkldnn_matmul(a, a, out, 0.0F, 1.0F);
  } catch (const c10::Error&) {
    return false;
  }
  return (out == 8).all().item<bool>();
}

bool onednn_is_faster() {
#if defined(__x86_64__)
  static const bool is = at::native::mkldnn_matmul != nullptr && cpu_isa() == CpuIsa::kAvx512 &&
                         __builtin_cpu_is("amd") != 0 && works();
  return is;
#else
  return false;
#endif
}

// Products of a call, below which a call costs more than it saves.
constexpr std::int64_t kFewest = std::int64_t{1} << 20;

bool suits_onednn(const Tensor& a, const Tensor& b) {
  return a.dim() == 2 && b.dim() == 2 && a.is_cpu() && b.is_cpu() &&
         a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32 &&
         a.size(0) * a.size(1) * b.size(1) >= kFewest && onednn_is_faster();
}

void one_product(const Tensor& out, const Tensor& a, const Tensor& b, Onto onto) {
  const bool sum = onto == Onto::kSum;
  if (suits_onednn(a, b)) {
    at::native::mkldnn_matmul(a, b, out, sum ? 1.0F : 0.0F, 1.0F);
  } else if (sum) {
    out.addmm_(a, b);
  } else {
    Tensor to = out;
    at::mm_out(to, a, b);
  }
}

// Of a length its three leading bits, the rest 0 or rounded up: few lengths for all that
// mini-batches have, since oneDNN makes code for each shape that it meets.
constexpr std::int64_t kLongest = 8192;
int bits_behind(std::int64_t length) {
  return std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length))) - 3);
}
std::int64_t rounded_down(std::int64_t length) {
  const int behind = bits_behind(length);
  return std::min(kLongest, length >> behind << behind);
}
std::int64_t rounded_up(std::int64_t length) {
  const int behind = bits_behind(length);
  return ((length + (std::int64_t{1} << behind) - 1) >> behind) << behind;
}

// A result for each row of a: the last rows may be made twice.
void product_by_rows(const Tensor& out, const Tensor& a, const Tensor& b) {
  const std::int64_t rows = a.size(0);
  for (std::int64_t at = 0; at < rows;) {
    std::int64_t length = rounded_down(rows - at);
    if (at != 0 && length < kLongest) length = rounded_up(rows - at);
    at = std::min(at, rows - length);
    one_product(out.narrow(0, at, length), a.narrow(0, at, length), b, Onto::kNothing);
    at += length;
  }
}

void product_onto(const Tensor& out, const Tensor& a, const Tensor& b, Onto onto) {
  if (!suits_onednn(a, b)) return one_product(out, a, b, onto);
  // A matrix turned round adds over what mini-batches have many of; others have a result for each.
  const bool adds = a.stride(0) == 1 && a.stride(1) != 1;
  if (!adds && onto == Onto::kNothing) return product_by_rows(out, a, b);
  const std::int64_t long_side = adds ? a.size(1) : a.size(0);
  for (std::int64_t at = 0; at < long_side;) {
    const std::int64_t length = rounded_down(long_side - at);
    if (adds) {
      one_product(
          out, a.narrow(1, at, length), b.narrow(0, at, length), at == 0 ? onto : Onto::kSum);
    } else {
      one_product(out.narrow(0, at, length), a.narrow(0, at, length), b, onto);
    }
    at += length;
  }
}

struct DenseLinear : torch::autograd::Function<DenseLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight) {
    context->save_for_backward({x, weight});
    return matrix_product(x, weight.t());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], grad = grads[0].contiguous();
    Tensor of_x, of_weight;
    if (context->needs_input_grad(0)) of_x = matrix_product(grad, weight);
    if (context->needs_input_grad(1)) of_weight = matrix_product(grad.t(), x);
    return {of_x, of_weight};
  }
};

}  // namespace

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  if (!suits_onednn(a, b)) return a.mm(b);
  Tensor out = torch::empty({a.size(0), b.size(1)}, a.options());
  product_onto(out, a, b, Onto::kNothing);
  return out;
}

void add_matrix_product(const Tensor& out, const Tensor& a, const Tensor& b) {
  product_onto(out, a, b, Onto::kSum);
}

Tensor dense_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!suits_onednn(x, weight.t())) return torch::linear(x, weight, bias);
  Tensor out = DenseLinear::apply(x, weight);
  return bias.defined() ? out.add_(bias) : out;
}

}  // namespace sluice::nn
