#include <sluice/nn/precision.h>

#include "nn/dense_product.h"

#include <sluice/nn/linear.h>

namespace sluice::nn {

torch::Tensor product(Precision precision, const torch::Tensor& x, const torch::Tensor& weight) {
  if (precision == Precision::kFloat32) return dense_linear(x, weight, {});
  return torch::linear(rounded_rows(x), weight.to(torch::kBFloat16)).narrow(0, 0, x.size(0));
}

torch::Tensor grouped_product(Precision precision,
                              const torch::Tensor& x,
                              const torch::Tensor& weight,
                              std::int64_t groups) {
  const bool exact = precision == Precision::kFloat32;
  const torch::Tensor rows = exact ? x : rounded_rows(x);
  const std::int64_t in = weight.size(1);
  const torch::Tensor by_groups = weight.view({groups, -1, in}).to(rows.scalar_type());
  const torch::Tensor products =
      rows.view({-1, groups, in}).transpose(0, 1).bmm(by_groups.transpose(1, 2)).transpose(0, 1);
  return products.reshape({rows.size(0), -1}).narrow(0, 0, x.size(0)).to(torch::kFloat32);
}

torch::Tensor linear(Precision precision,
                     const torch::Tensor& x,
                     const torch::Tensor& weight,
                     const torch::Tensor& bias) {
  if (precision == Precision::kFloat32) return dense_linear(x, weight, bias);
  const torch::Tensor out = product(precision, x, weight).to(torch::kFloat32);
  return bias.defined() ? out + bias : out;
}

torch::Tensor rounded_rows(const torch::Tensor& x) {
  constexpr std::int64_t kStep = 256;
  const std::int64_t more = (kStep - x.size(0) % kStep) % kStep;
  return torch::constant_pad_nd(x.to(torch::kBFloat16), {0, 0, 0, more});
}

void set_precision(torch::nn::Module& model, Precision precision) {
  for (const auto& module : model.modules()) {
    if (auto* layer = dynamic_cast<Linear*>(module.get())) layer->set_precision(precision);
  }
}

bool has_bf16_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace sluice::nn
