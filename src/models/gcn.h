// GCN (Kipf and Welling 2017): each layer averages a node's row and its neighbours', weighted by
// their degrees, and multiplies by one matrix. Normalisations: nn/gcn_conv.h.
#pragma once

#include <sluice/models/stack.h>
#include <sluice/nn/gcn_conv.h>

namespace sluice::models {

class Gcn final : public Stack {
 public:
  struct Options {
    StackOptions stack;
    nn::GcnNorm normalisation = nn::GcnNorm::kSymmetric;
    void describe(Schema& schema);
  };
  Gcn(const Options& options, const ModelContext& context);

  BatchNeeds needs() const override;
  Gathering gathering(std::int64_t layer) const override;

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch& batch) const override;

  nn::GcnNorm normalisation_;
  std::vector<std::shared_ptr<nn::GcnConv>> convs_;
};

}  // namespace sluice::models
