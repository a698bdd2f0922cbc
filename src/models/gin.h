// GIN (Xu et al. 2019): each layer sums a node's row and its neighbours' and applies a small MLP.
#pragma once

#include <sluice/models/stack.h>
#include <sluice/nn/gin_conv.h>

namespace sluice::models {

class Gin final : public Stack {
 public:
  struct Options {
    StackOptions stack;
    double epsilon = 0;
    Options() { stack.norm = Norm::kBatch; }
    void describe(Schema& schema);
  };
  Gin(const Options& options, const ModelContext& context);

  BatchNeeds needs() const override { return {.degrees = true}; }
  /// A sum is a mean as often as there are in-edges.
  Gathering gathering(std::int64_t) const override { return Gathering::kMean; }

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch& batch) const override;

  std::vector<std::shared_ptr<nn::GinConv>> convs_;
};

}  // namespace sluice::models
