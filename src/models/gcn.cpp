#include "models/gcn.h"

#include <string>

namespace sluice::models {

void Gcn::Options::describe(Schema& schema) {
  stack.describe(schema);
  schema
      .choice("normalisation",
              normalisation,
              {{"symmetric",
                nn::GcnNorm::kSymmetric,
                "by both ends' degrees in the whole graph; exact on full neighbourhoods, unbiased "
                "on samples"},
               {"mean", nn::GcnNorm::kMean, "mean over the node and its sampled neighbours"}})
      .help("weights of a node's neighbours");
}

Gcn::Gcn(const Options& options, const ModelContext& context)
    : Stack(options.stack, context, "gcn", Reads::kBlocks), normalisation_(options.normalisation) {
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    convs_.push_back(register_module(
        "layer" + std::to_string(layer),
        std::make_shared<nn::GcnConv>(width_in(layer), width_out(layer), normalisation_, key)));
  }
}

BatchNeeds Gcn::needs() const {
  return {.degrees = normalisation_ == nn::GcnNorm::kSymmetric};
}

// By both ends' degrees, a row that was made weighs as its target's degree says: its own is 0. A
// mean over a node and its neighbours is none of rows that were made before.
Gathering Gcn::gathering(std::int64_t) const {
  return normalisation_ == nn::GcnNorm::kSymmetric ? Gathering::kScaledMean : Gathering::kEdges;
}

torch::Tensor Gcn::convolve(std::int64_t layer,
                            const nn::LayerCall& call,
                            const torch::Tensor& x,
                            const Batch& batch) const {
  const auto& conv = *convs_[static_cast<std::size_t>(layer)];
  if (!needs().degrees) return conv.forward(call, x, {});
  return conv.forward(call, x, degrees_of(batch.nodes[target_type()]));
}

}  // namespace sluice::models
