#include "models/mlp.h"

#include <string>

namespace sluice::models {

Mlp::Mlp(const Options& options, const ModelContext& context)
    : Stack(options.stack, context, "mlp", Reads::kRows) {
  for (std::int64_t layer = 0; layer < options.stack.layers; ++layer) {
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    linears_.push_back(register_module(
        "layer" + std::to_string(layer),
        std::make_shared<nn::Linear>(width_in(layer), width_out(layer), nn::Bias::kZero, key)));
  }
}

torch::Tensor Mlp::convolve(std::int64_t layer,
                            const nn::LayerCall&,
                            const torch::Tensor& x,
                            const Batch&) const {
  return linears_[static_cast<std::size_t>(layer)]->forward(x);
}

}  // namespace sluice::models
