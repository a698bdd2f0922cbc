#include "models/gin.h"

#include <string>

namespace sluice::models {

void Gin::Options::describe(Schema& schema) {
  stack.describe(schema);
  schema.field("epsilon", epsilon)
      .help("where the learnable extra weight of a node's own row starts")
      .range(-10, 10);
}

Gin::Gin(const Options& options, const ModelContext& context)
    : Stack(options.stack, context, "gin", Reads::kBlocks) {
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const nn::GinConvOptions conv{
        width_in(layer), options.stack.hidden, width_out(layer), options.epsilon};
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    convs_.push_back(
        register_module("layer" + std::to_string(layer), std::make_shared<nn::GinConv>(conv, key)));
  }
}

torch::Tensor Gin::convolve(std::int64_t layer,
                            const nn::LayerCall& call,
                            const torch::Tensor& x,
                            const Batch& batch) const {
  return convs_[static_cast<std::size_t>(layer)]->forward(
      call, x, degrees_of(batch.nodes[target_type()]));
}

}  // namespace sluice::models
