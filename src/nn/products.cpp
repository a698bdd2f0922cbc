#include "nn/products.h"

#include <algorithm>
#include <array>

namespace at::native {

// Of LibTorch, but in none of its headers: out = alpha a b + beta out. Null where a LibTorch does
// not have it, or not like that.
__attribute__((weak)) void mkldnn_matmul(
    const Tensor& a, const Tensor& b, const Tensor& out, float beta, float alpha);

}  // namespace at::native

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::array<std::int64_t, 2> kPieces{8192, 1024};  // rows
constexpr std::int64_t kLeastWidth = 16;                    // columns, on either side

// Calls piece(begin, rows) for all rows that pieces of fixed sizes cover, from the first on;
// returns how many.
template <class Piece>
std::int64_t for_pieces(std::int64_t rows, const Piece& piece) {
  std::int64_t begin = 0;
  for (const std::int64_t size : kPieces) {
    for (; rows - begin >= size; begin += size) piece(begin, size);
  }
  return begin;
}

void multiply(const Tensor& a, const Tensor& b, const Tensor& out, bool add) {
  at::native::mkldnn_matmul(a, b, out, add ? 1.0f : 0.0f, 1.0f);
}

bool is_matrix(const Tensor& x) {
  return x.dim() == 2 && x.is_cpu() && x.scalar_type() == torch::kFloat32 &&
         x.layout() == torch::kStrided;
}

// Rows one after the other, or columns.
bool is_dense(const Tensor& x) {
  return x.is_contiguous() || x.t().is_contiguous();
}

// What is left of the rows after the pieces.
void finish_rows(const Tensor& x, const Tensor& w, const Tensor& out, std::int64_t done, bool add) {
  const std::int64_t left = x.size(0) - done;
  if (left == 0) return;
  Tensor rest = out.narrow(0, done, left);
  if (add) {
    rest.addmm_(x.narrow(0, done, left), w);
  } else {
    torch::mm_out(rest, x.narrow(0, done, left), w);
  }
}

void multiply_rows(const Tensor& x, const Tensor& w, const Tensor& out, bool add) {
  const std::int64_t done = for_pieces(x.size(0), [&](std::int64_t begin, std::int64_t rows) {
    multiply(x.narrow(0, begin, rows), w, out.narrow(0, begin, rows), add);
  });
  finish_rows(x, w, out, done, add);
}

struct LinearByPieces : torch::autograd::Function<LinearByPieces> {
  static Tensor forward(AutogradContext* context,
                        ProductLibrary library,
                        const Tensor& x,
                        const Tensor& weight) {
    context->saved_data["library"] = static_cast<std::int64_t>(library);
    context->save_for_backward({x, weight});
    return Products(library).rows(x, weight.t());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Products products(static_cast<ProductLibrary>(context->saved_data["library"].toInt()));
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor grad = grads[0].contiguous();
    Tensor grad_x, grad_weight;
    if (context->needs_input_grad(0)) grad_x = products.rows(grad, weight);
    if (context->needs_input_grad(1)) grad_weight = products.columns(grad, x);
    return {Tensor(), grad_x, grad_weight};
  }
};

}  // namespace

bool one_dnn_can_be_called() {
  return at::native::mkldnn_matmul != nullptr && at::hasMKLDNN();
}

ProductLibrary product_library() {
#if defined(__x86_64__)
  static const bool faster =
      __builtin_cpu_supports("avx512f") && !__builtin_cpu_is("intel") && one_dnn_can_be_called();
  if (faster) return ProductLibrary::kOneDnn;
#endif
  return ProductLibrary::kLibTorch;
}

bool Products::in_pieces(const Tensor& x, const Tensor& other) const {
  return library_ == ProductLibrary::kOneDnn && is_matrix(x) && is_matrix(other) &&
         x.size(0) >= kPieces.back() && x.is_contiguous() && is_dense(other) &&
         std::min({x.size(1), other.size(0), other.size(1)}) >= kLeastWidth;
}

Tensor Products::rows(const Tensor& x, const Tensor& w) const {
  if (!in_pieces(x, w)) return x.mm(w);
  Tensor out = torch::empty({x.size(0), w.size(1)}, x.options());
  multiply_rows(x, w, out, false);
  return out;
}

void Products::add_rows(const Tensor& x, const Tensor& w, Tensor out) const {
  if (!in_pieces(x, w)) {
    out.addmm_(x, w);
    return;
  }
  multiply_rows(x, w, out, true);
}

Tensor Products::columns(const Tensor& a, const Tensor& b) const {
  if (!in_pieces(a, b) || !b.is_contiguous()) return a.t().mm(b);
  Tensor out = torch::empty({a.size(1), b.size(1)}, a.options());
  const std::int64_t done = for_pieces(a.size(0), [&](std::int64_t begin, std::int64_t rows) {
    multiply(a.narrow(0, begin, rows).t(), b.narrow(0, begin, rows), out, begin != 0);
  });
  const std::int64_t left = a.size(0) - done;
  if (left != 0) out.addmm_(a.narrow(0, done, left).t(), b.narrow(0, done, left));
  return out;
}

Tensor Products::linear(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
  if (!in_pieces(x, weight)) return torch::linear(x, weight, bias);
  Tensor out = LinearByPieces::apply(library_, x, weight);
  return bias.defined() ? out.add_(bias) : out;
}

}  // namespace sluice::nn
