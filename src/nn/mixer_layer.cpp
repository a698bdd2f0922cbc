#include <sluice/nn/mixer_layer.h>

#include <sluice/nn/block_ops.h>

#include <algorithm>
#include <cmath>

namespace sluice::nn {
namespace {

using torch::Tensor;

std::int64_t share_of(std::int64_t columns, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(columns) * factor));
}

}  // namespace

MixerLayer::MixerLayer(const MixerLayerOptions& options, RandomKey key) : options_(options) {
  const std::int64_t tokens = options.tokens, width = options.width;
  const auto norm = torch::nn::LayerNormOptions({width});
  token_norm_ = register_module("token_norm", torch::nn::LayerNorm(norm));
  channel_norm_ = register_module("channel_norm", torch::nn::LayerNorm(norm));
  const auto add = [&](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name, std::make_shared<Linear>(in, out, Bias::kZero, key.with(name)));
  };
  const std::int64_t mixed = share_of(tokens, options.token_factor);
  const std::int64_t deep = share_of(width, options.channel_factor);
  token_wide_ = add("token_wide", tokens, mixed);
  token_narrow_ = add("token_narrow", mixed, tokens);
  channel_wide_ = add("channel_wide", width, deep);
  channel_narrow_ = add("channel_narrow", deep, width);
}

Tensor MixerLayer::mlp(const LayerDraws& draws,
                       std::string_view name,
                       const Linear& wide,
                       const Linear& narrow,
                       const Tensor& rows) const {
  const RandomKey key = draws.key.with(name);
  const auto dropped = [&](std::string_view which, const Tensor& x) {
    return is_training() ? dropout(draws.executor, key.with(which), options_.dropout, x) : x;
  };
  const Tensor hidden = dropped("hidden", torch::gelu(wide.forward(rows)));
  return dropped("out", narrow.forward(hidden));
}

Tensor MixerLayer::forward(const LayerDraws& draws, const Tensor& x, const Tensor& mask) const {
  const std::int64_t count = x.size(0), tokens = options_.tokens, width = options_.width;
  // Rows are the columns of a sequence: [n * width, tokens].
  const Tensor turned =
      (token_norm_->forward(x) * mask).transpose(1, 2).reshape({count * width, tokens});
  const Tensor mixed = mlp(draws, "tokens", *token_wide_, *token_narrow_, turned)
                           .view({count, width, tokens})
                           .transpose(1, 2);
  const Tensor half = x + mixed * mask;
  const Tensor rows = channel_norm_->forward(half).view({count * tokens, width});
  const Tensor deep = mlp(draws, "channels", *channel_wide_, *channel_narrow_, rows);
  return half + deep.view(x.sizes()) * mask;
}

}  // namespace sluice::nn
