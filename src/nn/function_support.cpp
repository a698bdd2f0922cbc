#include "nn/function_support.h"

#include <sluice/error.h>

#include <fmt/format.h>

namespace sluice::nn {
namespace {

struct HeldCall final : torch::CustomClassHolder {
  explicit HeldCall(LayerCall held_call) : call(std::move(held_call)) {}
  LayerCall call;
};

}  // namespace

kernels::Rows<float> rows_of(const torch::Tensor& matrix) {
  return {matrix.data_ptr<float>(), matrix.size(0), matrix.size(1)};
}

kernels::FloatRows rows_to_read(const torch::Tensor& matrix) {
  if (matrix.scalar_type() != torch::kBFloat16) return rows_of(matrix);
  const auto* bits = reinterpret_cast<const kernels::BFloat16*>(matrix.data_ptr<at::BFloat16>());
  return kernels::Rows<const kernels::BFloat16>{bits, matrix.size(0), matrix.size(1)};
}

const float* floats_or_null(const torch::Tensor& vector) {
  return vector.defined() ? vector.data_ptr<float>() : nullptr;
}

void check_rows(const torch::Tensor& x, std::int64_t count, std::string_view what) {
  if (x.dim() == 2 && x.scalar_type() == torch::kFloat32 && x.size(0) == count) return;
  throw Error(ErrorCode::kInternal,
              fmt::format("a block operation wants f32 [{}, .] for its {} and got {} of {} rows",
                          count,
                          what,
                          torch::toString(x.scalar_type()),
                          x.dim() > 0 ? x.size(0) : 0));
}

void check_rows_to_read(const torch::Tensor& x, std::int64_t count, std::string_view what) {
  if (x.dim() == 2 && x.scalar_type() == torch::kBFloat16 && x.size(0) == count) return;
  check_rows(x, count, what);
}

void hold(torch::autograd::AutogradContext* context, const LayerCall& call) {
  context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<HeldCall>(call));
}

const LayerCall& held(torch::autograd::AutogradContext* context) {
  const auto capsule = context->saved_data.at("call").toCapsule();
  return static_cast<const HeldCall&>(*capsule).call;  // the context keeps it alive
}

}  // namespace sluice::nn
