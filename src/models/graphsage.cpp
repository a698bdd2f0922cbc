#include "models/graphsage.h"

#include <string>

namespace sluice::models {

void GraphSage::Options::describe(Schema& schema) {
  stack.describe(schema);
  schema
      .choice("aggregator",
              aggregator,
              {{"mean", nn::Aggregator::kMean, "mean of the sampled neighbours"},
               {"max", nn::Aggregator::kMax, "elementwise maximum of the sampled neighbours"}})
      .help("how neighbours are summed up");
  schema
      .choice("combine",
              combine,
              {{"sum", nn::Combine::kSum, "W1 x + W2 aggregate"},
               {"concat", nn::Combine::kConcat, "[W1 x ; W2 aggregate], half the width each"}})
      .help("how a hidden layer joins a node's own row and the aggregate");
}

GraphSage::GraphSage(const Options& options, const ModelContext& context)
    : Stack(options.stack, context, "graphsage", Reads::kBlocks) {
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const nn::SageConvOptions conv{width_in(layer),
                                   width_out(layer),
                                   options.aggregator,
                                   is_last(layer) ? nn::Combine::kSum : options.combine};
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    convs_.push_back(register_module("layer" + std::to_string(layer),
                                     std::make_shared<nn::SageConv>(conv, key)));
  }
}

torch::Tensor GraphSage::convolve(std::int64_t layer,
                                  const nn::LayerCall& call,
                                  const torch::Tensor& x,
                                  const Batch&) const {
  return convs_[static_cast<std::size_t>(layer)]->forward(call, x);
}

}  // namespace sluice::models
