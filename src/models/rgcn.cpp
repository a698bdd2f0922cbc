#include "models/rgcn.h"

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <string>

namespace sluice::models {

void Rgcn::Options::describe(Schema& schema) {
  stack.describe(schema);
  schema.field("bases", bases)
      .help(
          "matrices that those of all relations are sums of; at most as many as relations are "
          "used, "
          "which then have nothing in common")
      .range(1, 1 << 16);
  describe_execution(schema, execution);
}

Rgcn::Rgcn(const Options& options, const ModelContext& context)
    : TypedStack(options.stack, context, "rgcn", {nullptr, {}, options.execution}) {
  std::int64_t count = 0;
  for (const RelationSchema& relation : context.schema.relations) {
    const bool told = relation.labels && relation.labels->kind == LabelKind::kClass;
    relations_.push_back({count, told ? std::int64_t{relation.labels->width} : 0});
    count += relations_.back().classes + 1;
  }
  for (std::int64_t layer = 0; layer < num_layers(); ++layer) {
    const nn::RgcnConvOptions conv{
        width_in(layer), width_out(layer), count, std::min(options.bases, count)};
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    convs_.push_back(register_module("layer" + std::to_string(layer),
                                     std::make_shared<nn::RgcnConv>(conv, key)));
  }
}

BatchNeeds Rgcn::needs() const {
  BatchNeeds needs = TypedStack::needs();
  needs.edge_labels = std::ranges::any_of(
      relations_, [](const Relation& relation) { return relation.classes != 0; });
  return needs;
}

nn::RelationBlock Rgcn::with_relations(const nn::BlockRef& block) const {
  const Relation& relation = relations_.at(block->relation);
  const std::int64_t edges = block->num_edges();
  if (relation.classes == 0) return {block, {}, relation.first};
  if (block->labels.numel() != edges)
    throw Error(ErrorCode::kInternal, "a batch without the labels of edges that its model needs");
  const torch::Tensor labels = nn::as_tensor(block->labels).to(torch::kInt64);
  return {block, labels.masked_fill(labels.lt(0), relation.classes) + relation.first};
}

TypedRows Rgcn::propagate(std::int64_t layer,
                          const nn::LayerCall& call,
                          const std::vector<nn::PendingRows>& x,
                          const Batch& batch) const {
  std::vector<nn::RelationBlock> blocks;
  for (const nn::BlockRef& block : blocks_of(batch, layer)) blocks.push_back(with_relations(block));
  return convs_[static_cast<std::size_t>(layer)]->forward(
      call.executor, blocks, x, targets_of(batch, layer));
}

}  // namespace sluice::models
