// GAT (Velickovic et al. 2018): each layer weighs a node's neighbours by attention, by heads.
#pragma once

#include <sluice/models/stack.h>
#include <sluice/nn/gat_conv.h>

namespace sluice::models {

class Gat final : public Stack {
 public:
  struct Options {
    StackOptions stack;
    std::int64_t heads = 4;
    std::int64_t output_heads = 1;
    double attention_dropout = 0;
    double negative_slope = 0.2;
    Options() { stack.activation = Activation::kElu; }
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`.
  Gat(const Options& options, const ModelContext& context);

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch& batch) const override;

  std::vector<std::shared_ptr<nn::GatConv>> convs_;
};

}  // namespace sluice::models
