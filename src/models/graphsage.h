// GraphSAGE (Hamilton et al. 2017): each layer combines a node's own row with an aggregate of its
// sampled neighbours' rows. Over several node types or relations each relation has weights of its
// own, and what they make is summed.
#pragma once

#include <sluice/models/typed_stack.h>
#include <sluice/nn/hetero_sage_conv.h>
#include <sluice/nn/sage_conv.h>

namespace sluice::models {

class GraphSage final : public TypedStack {
 public:
  struct Options {
    StackOptions stack;
    nn::Aggregator aggregator = nn::Aggregator::kMean;
    nn::Combine combine = nn::Combine::kSum;
    Execution execution = Execution::kAuto;
    void describe(Schema& schema);
  };
  GraphSage(const Options& options, const ModelContext& context);

  Gathering gathering(std::int64_t layer) const override;

 private:
  TypedRows propagate(std::int64_t layer,
                      const nn::LayerCall& call,
                      const std::vector<nn::PendingRows>& x,
                      const Batch& batch) const override;

  Gathering gathering_;
  // A layer each, of either: of one node type and relation, or of several.
  std::vector<std::shared_ptr<nn::SageConv>> convs_;
  std::vector<std::shared_ptr<nn::HeteroSageConv>> typed_convs_;
};

}  // namespace sluice::models
