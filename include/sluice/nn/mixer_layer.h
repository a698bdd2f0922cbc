// MixerLayer: an MLP-Mixer's layer (Tolstikhin et al. 2021, as GraphMixer has it: Cong et al., ICLR
// 2023) over sequences of a fixed length: one MLP along the tokens of each column, then one along
// the columns of each token. Used by one thread at a time.
#pragma once

#include <sluice/nn/attention.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::nn {

struct MixerLayerOptions {
  std::int64_t tokens = 20;
  std::int64_t width = 100;
  double token_factor = 0.5;    ///< hidden columns of the MLP along tokens, as a share of them
  double channel_factor = 4.0;  ///< of that along columns
  double dropout = 0.1;
};

class MixerLayer : public torch::nn::Module {
 public:
  MixerLayer(const MixerLayerOptions& options, RandomKey key);

  /// @param x [n, tokens, width], zeros where `mask` is 0; the result likewise
  /// @param mask f32 [n, tokens, 1]: 1 where a token is, 0 where there is padding, which then
  /// takes no part
  torch::Tensor forward(const LayerDraws& draws,
                        const torch::Tensor& x,
                        const torch::Tensor& mask) const;

 private:
  torch::Tensor mlp(const LayerDraws& draws,
                    std::string_view name,
                    const Linear& wide,
                    const Linear& narrow,
                    const torch::Tensor& rows) const;

  MixerLayerOptions options_;
  mutable torch::nn::LayerNorm token_norm_{nullptr}, channel_norm_{nullptr};
  std::shared_ptr<Linear> token_wide_, token_narrow_, channel_wide_, channel_narrow_;
};

}  // namespace sluice::nn
