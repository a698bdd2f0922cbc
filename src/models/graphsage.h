// GraphSAGE (Hamilton et al. 2017): each layer combines a node's own row with an aggregate of its
// sampled neighbours' rows.
#pragma once

#include <sluice/models/stack.h>
#include <sluice/nn/sage_conv.h>

namespace sluice::models {

class GraphSage final : public Stack {
 public:
  struct Options {
    StackOptions stack;
    nn::Aggregator aggregator = nn::Aggregator::kMean;
    nn::Combine combine = nn::Combine::kSum;
    void describe(Schema& schema);
  };
  GraphSage(const Options& options, const ModelContext& context);

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch& batch) const override;

  std::vector<std::shared_ptr<nn::SageConv>> convs_;
};

}  // namespace sluice::models
