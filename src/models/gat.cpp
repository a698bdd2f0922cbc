#include "models/gat.h"

#include "models/heads.h"

#include <string>
#include <utility>

namespace sluice::models {

void Gat::Options::describe(Schema& schema) {
  stack.describe(schema);
  schema.field("heads", heads)
      .help("attention heads of hidden layers, side by side; hidden is a multiple of them")
      .range(1, 1024);
  schema.field("output_heads", output_heads)
      .help("attention heads of the last layer, averaged")
      .range(1, 1024);
  schema.field("attention_dropout", attention_dropout)
      .help("share of attention weights zeroed in training")
      .range(0, 0.999);
  schema.field("negative_slope", negative_slope)
      .help("of the leaky ReLU over attention scores")
      .range(0, 1);
}

Gat::Gat(const Options& options, const ModelContext& context)
    : Gat(options, context, "gat", nullptr) {}

Gat::Gat(const Options& options,
         const ModelContext& context,
         std::string_view name,
         std::shared_ptr<InputRows> inputs)
    : TypedStack(options.stack, context, name, {std::move(inputs), {}}) {
  check_heads(name, options.stack.hidden, options.heads);
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    nn::GatConvOptions conv;
    conv.in = width_in(layer);
    conv.heads = is_last(layer) ? options.output_heads : options.heads;
    conv.head_width = is_last(layer) ? width_out(layer) : width_out(layer) / options.heads;
    conv.join = is_last(layer) ? nn::Heads::kAverage : nn::Heads::kConcat;
    conv.negative_slope = options.negative_slope;
    conv.attention_dropout = options.attention_dropout;
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    convs_.push_back(
        register_module("layer" + std::to_string(layer), std::make_shared<nn::GatConv>(conv, key)));
  }
}

TypedRows Gat::propagate(std::int64_t layer,
                         const nn::LayerCall& call,
                         const std::vector<nn::PendingRows>& x,
                         const Batch& batch) const {
  const auto at = static_cast<std::size_t>(layer);
  const nn::UnionBlock all(batch, at, types_of(layer));
  return all.split(
      convs_[at]->forward({call.executor, all.block(), call.key}, all.join(nn::whole(x))));
}

}  // namespace sluice::models
