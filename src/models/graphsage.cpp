#include "models/graphsage.h"

#include "models/type_flow.h"

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
  describe_execution(schema, execution);
}

GraphSage::GraphSage(const Options& options, const ModelContext& context)
    : TypedStack(options.stack, context, "graphsage", {nullptr, {}, options.execution}),
      gathering_(options.aggregator == nn::Aggregator::kMax ? Gathering::kMax : Gathering::kMean) {
  const GraphSchema& schema = context.schema;
  const bool plain = schema.nodes.size() == 1 && schema.relations.size() == 1;
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const nn::SageConvOptions conv{width_in(layer),
                                   width_out(layer),
                                   options.aggregator,
                                   is_last(layer) ? nn::Combine::kSum : options.combine};
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    const std::string name = "layer" + std::to_string(layer);
    if (plain) {
      convs_.push_back(register_module(name, std::make_shared<nn::SageConv>(conv, key)));
      continue;
    }
    const LayerParts parts = parts_of(schema, types_of(layer));
    typed_convs_.push_back(register_module(
        name,
        std::make_shared<nn::HeteroSageConv>(
            nn::HeteroSageConvOptions{
                conv, parts.written, parts.relations, schema.nodes.size(), schema.relations.size()},
            key)));
  }
}

Gathering GraphSage::gathering(std::int64_t) const {
  return gathering_;
}

TypedRows GraphSage::propagate(std::int64_t layer,
                               const nn::LayerCall& call,
                               const std::vector<nn::PendingRows>& x,
                               const Batch& batch) const {
  const auto at = static_cast<std::size_t>(layer);
  const std::vector<nn::BlockRef> blocks = blocks_of(batch, layer);
  if (typed_convs_.empty())
    return {convs_[at]->forward({call.executor, blocks.at(0), call.key}, x[0].whole())};
  return typed_convs_[at]->forward(call, blocks, x, targets_of(batch, layer));
}

}  // namespace sluice::models
