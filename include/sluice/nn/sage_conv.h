// SageConv: GraphSAGE (Hamilton et al. 2017) over a sampled block.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <memory>

namespace sluice::nn {

enum class Aggregator { kMean, kMax };
enum class Combine {
  kSum,    ///< W1 x_t + W2 aggregate: one weight over the two inputs side by side
  kConcat  ///< [W1 x_t ; W2 aggregate]: the two outputs side by side, half the width each
};

struct SageConvOptions {
  std::int64_t in = 0, out = 0;
  Aggregator aggregator = Aggregator::kMean;  ///< over the sampled neighbours; none: 0
  Combine combine = Combine::kSum;
};

class SageConv : public torch::nn::Module {
 public:
  SageConv(const SageConvOptions& options, RandomKey key);

  /// @param x [num_sources, in]; the result is [num_targets, out]
  torch::Tensor forward(const LayerCall& call, const torch::Tensor& x) const;

 private:
  AggregationShape shape_over(const Block& block) const;
  torch::Tensor aggregate(const LayerCall& call, const torch::Tensor& x) const;

  SageConvOptions options_;
  std::shared_ptr<Linear> own_, neighbours_;
};

}  // namespace sluice::nn
