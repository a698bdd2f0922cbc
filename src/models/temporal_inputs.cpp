#include "models/temporal_inputs.h"

#include <sluice/error.h>
#include <sluice/nn/init.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice::models {
namespace {

using torch::Tensor;

void check_event_times(const GraphSchema& schema, std::string_view model) {
  for (const RelationSchema& relation : schema.relations) {
    if (relation.has_times) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' reads events, and the edges of relation '{}' have no times",
                            model,
                            relation.key()),
                "import the edges with time_column, or choose another model");
  }
}

std::int64_t first_feature_width(const std::vector<FeatureSchema>& features) {
  return features.empty() ? 0 : std::int64_t{features[0].dim};
}

Tensor edge_feature_rows(const Array& features, std::int64_t width) {
  const Tensor rows = nn::as_tensor(features);
  if (rows.dim() == 2 && rows.size(1) == width) return rows;
  throw Error(ErrorCode::kInternal,
              fmt::format("a batch without the {} feature columns of edges of its model", width));
}

}  // namespace

LayerEvents events_into(const Batch& batch,
                        std::size_t layer,
                        std::size_t type,
                        std::int64_t latest) {
  if (layer >= batch.layers.size())
    throw Error(
        ErrorCode::kInternal,
        fmt::format(
            "a batch of {} layers for a model of more than {}", batch.layers.size(), layer));
  std::vector<const Block*> blocks;
  for (const Block& block : batch.layers[layer]) {
    if (block.target_type == type) blocks.push_back(&block);
  }
  const BatchNodes& nodes = batch.nodes.at(type);
  nn::EventSequences events(blocks, nodes.size_at.at(layer + 1), nn::device_of(nodes.ids.space()));
  if (latest != 0) events = events.latest(latest);
  return {std::move(blocks), std::move(events)};
}

TemporalInputs::TemporalInputs(const ModelContext& context,
                               std::string_view model,
                               std::int64_t width,
                               RandomKey key)
    : width_(width) {
  const GraphSchema& schema = context.schema;
  check_event_times(schema, model);
  const bool several = schema.relations.size() > 1;
  for (std::size_t type = 0; type < schema.nodes.size(); ++type) {
    node_rows_.emplace_back(context, type);
    const std::int64_t in = node_rows_.back().width();
    by_type_.push_back(nullptr);
    if (in == 0) continue;
    by_type_.back() = register_module(
        "nodes" + std::to_string(type),
        std::make_shared<nn::Linear>(in, width, nn::Bias::kNone, key.with("nodes").with(type)));
  }
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    const std::int64_t in = first_feature_width(schema.relations[r].features);
    by_relation_.push_back(nullptr);
    if (in == 0) continue;
    by_relation_.back() = register_module(
        "edges" + std::to_string(r),
        std::make_shared<nn::Linear>(in, width, nn::Bias::kNone, key.with("edges").with(r)));
  }
  if (!several) return;
  const auto count = static_cast<std::int64_t>(schema.relations.size());
  relation_rows_ = register_parameter(
      "relations", nn::glorot(key.with("relations"), {count, width}, count, width));
}

BatchNeeds TemporalInputs::needs() const {
  BatchNeeds needs;
  const bool read = std::ranges::any_of(by_relation_, [](const auto& each) { return !!each; });
  if (read) needs.edge_feature_groups = {""};
  return needs;
}

bool TemporalInputs::has_edges() const {
  return relation_rows_.defined() ||
         std::ranges::any_of(by_relation_, [](const auto& each) { return !!each; });
}

bool TemporalInputs::has_nodes() const {
  return std::ranges::any_of(by_type_, [](const auto& each) { return !!each; });
}

Tensor TemporalInputs::nodes(const Batch& batch, std::size_t type) const {
  if (!by_type_[type] || batch.nodes.at(type).ids.numel() == 0) return {};
  return by_type_[type]->forward(node_rows_[type].of(batch));
}

std::vector<Tensor> TemporalInputs::nodes(const Batch& batch) const {
  std::vector<Tensor> rows(batch.nodes.size());
  for (std::size_t type = 0; type < rows.size(); ++type) rows[type] = nodes(batch, type);
  return rows;
}

Tensor TemporalInputs::edges(const LayerEvents& layer) const {
  if (!has_edges() || layer.blocks.empty()) return {};
  std::vector<Tensor> by_block;
  for (const Block* block : layer.blocks) {
    const std::size_t r = block->relation;
    const auto options = torch::TensorOptions().device(layer.events.deltas().device());
    Tensor rows;
    if (by_relation_[r] && block->num_edges() != 0) {
      if (block->features.empty())
        throw Error(ErrorCode::kInternal, "a batch without the edge features of its model");
      rows = by_relation_[r]->forward(edge_feature_rows(block->features[0], by_relation_[r]->in()));
    } else {
      rows = torch::zeros({block->num_edges(), width_}, options);
    }
    if (relation_rows_.defined()) rows = rows + relation_rows_[static_cast<std::int64_t>(r)];
    by_block.push_back(rows);
  }
  return layer.events.in_order(by_block);
}

Tensor neighbours_of(const LayerEvents& layer, const std::vector<Tensor>& rows) {
  const auto defined =
      std::ranges::find_if(rows, [](const Tensor& each) { return each.defined(); });
  if (defined == rows.end() || layer.blocks.empty()) return {};
  std::vector<Tensor> by_block;
  for (const Block* block : layer.blocks) {
    const Tensor& of_type = rows.at(block->source_type);
    // An embedding's backward adds in the order of the events, whatever the number of threads.
    by_block.push_back(of_type.defined()
                           ? torch::embedding(of_type, nn::as_tensor(block->neighbours))
                           : torch::zeros({block->num_edges(), defined->size(1)},
                                          defined->options().requires_grad(false)));
  }
  return layer.events.in_order(by_block);
}

Tensor node_numbers(const Batch& batch, std::size_t type) {
  const auto types = static_cast<std::int64_t>(batch.nodes.size());
  return nn::as_tensor(batch.nodes.at(type).ids).view(torch::kInt64) * types +
         static_cast<std::int64_t>(type);
}

Tensor neighbour_numbers(const LayerEvents& layer, const Batch& batch) {
  std::vector<Tensor> by_block;
  for (const Block* block : layer.blocks) {
    const Tensor numbers = node_numbers(batch, block->source_type);
    by_block.push_back(numbers.index_select(0, nn::as_tensor(block->neighbours)));
  }
  return by_block.empty() ? torch::empty_like(layer.events.deltas())
                          : layer.events.in_order(by_block);
}

Tensor sum_of(const std::vector<Tensor>& parts) {
  Tensor sum;
  for (const Tensor& part : parts) {
    if (part.defined()) sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

}  // namespace sluice::models
