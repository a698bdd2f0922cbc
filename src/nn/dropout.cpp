// The dropout of nn/block_ops.h: its backward draws the mask again.
#include "kernels/table.h"

#include <sluice/nn/block_ops.h>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Mask final : torch::CustomClassHolder {
  Mask(const kernels::Executor& where, RandomKey draws, double share)
      : executor(where), key(draws), rate(share) {}

  Tensor apply(const Tensor& x) const {
    Tensor out = torch::empty_like(x);
    kernels::on(executor).dropout(
        executor, key, rate, x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
  }

  kernels::Executor executor;
  RandomKey key;
  double rate;
};

struct Dropout : torch::autograd::Function<Dropout> {
  static Tensor forward(AutogradContext* context,
                        const c10::intrusive_ptr<Mask>& mask,
                        const Tensor& x) {
    context->saved_data["mask"] = c10::IValue::make_capsule(mask);
    return mask->apply(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto mask = context->saved_data.at("mask").toCapsule();
    return {Tensor(), static_cast<const Mask&>(*mask).apply(grads[0].contiguous())};
  }
};

}  // namespace

Tensor dropout(const kernels::Executor& executor, RandomKey key, double rate, const Tensor& x) {
  if (rate <= 0) return x;
  return Dropout::apply(c10::make_intrusive<Mask>(executor, key, rate), x.contiguous());
}

}  // namespace sluice::nn
