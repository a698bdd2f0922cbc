#include "models/blended_rows.h"

#include "models/type_flow.h"

#include <sluice/error.h>
#include <sluice/nn/init.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace sluice::models {
namespace {

// Uniform, of length 1 on average.
torch::Tensor random_codes(RandomKey key, std::size_t count, std::int64_t width) {
  return nn::uniform(
      key, {static_cast<std::int64_t>(count), width}, std::sqrt(3.0 / static_cast<double>(width)));
}

// Uniform with the variance 1, so that a code's product has it, too. A step of Adam moves all of a
// row's entries at once: were codes longer and weights smaller, it would move products by several
// times what they are.
torch::Tensor code_weights(RandomKey key, std::int64_t columns, std::int64_t width) {
  return nn::uniform(key, {columns, width}, std::sqrt(3.0));
}

}  // namespace

BlendedRows::BlendedRows(const BlendOptions& options,
                         const ModelContext& context,
                         const std::vector<bool>& read)
    : options_(options), read_(read) {
  const GraphSchema& schema = context.schema;
  const std::int64_t columns = options.rank * options.width;
  const RandomKey key = context.key.with("blend");
  const auto one = [&](const std::string& name) {
    return register_parameter(name, nn::glorot(key.with(name), {1, columns}, 1, columns));
  };
  const std::vector<nn::TypedRelation> relations = typed_relations(schema);
  for (std::size_t type = 0; type < schema.nodes.size(); ++type) {
    rows_.emplace_back(context, type);
    by_features_.push_back(nullptr);
    if (read[type] && rows_[type].width() != 0)
      by_features_[type] = register_module(
          fmt::format("features{}", type),
          std::make_shared<nn::Linear>(
              rows_[type].width(), columns, nn::Bias::kNone, key.with("features").with(type)));
    std::vector<std::int64_t> into;
    for (const nn::TypedRelation& each : relations)
      if (each.target_type == type) into.push_back(static_cast<std::int64_t>(each.relation));
    relations_into_.push_back(torch::tensor(into, torch::kInt64));
  }
  by_type_ =
      register_parameter("type", code_weights(key.with("type"), columns, options.code_width));
  by_relation_ = register_parameter(
      "relation", code_weights(key.with("relation"), columns, options.code_width));
  one_of_features_ = one("features_one");
  one_of_type_ = one("type_one");
  one_of_relation_ = one("relation_one");
  rank_weights_ = register_parameter("rank_weights", nn::zeros({options.rank, 1}) + 1);
  bias_ = register_parameter("bias", nn::zeros({options.width}));
  type_codes_ = register_buffer(
      "type_codes", random_codes(key.with("type_codes"), schema.nodes.size(), options.code_width));
  relation_codes_ = register_buffer(
      "relation_codes",
      random_codes(key.with("relation_codes"), schema.relations.size(), options.code_width));
}

BatchNeeds BlendedRows::needs() const {
  BatchNeeds needs;
  needs.relation_degrees = true;
  return needs;
}

torch::Tensor BlendedRows::shares(const Batch& batch, std::size_t type) const {
  const BatchNodes& nodes = batch.nodes[type];
  const std::int64_t relations = relations_into_[type].numel();
  const torch::Tensor counts = nn::as_tensor(nodes.relation_degrees);
  if (counts.dim() != 2 || counts.size(0) != nodes.ids.numel() || counts.size(1) != relations)
    throw Error(ErrorCode::kInternal,
                "a batch without the degrees by relation that its model needs");
  const torch::Tensor sums = counts.to(torch::kFloat32);
  return sums / sums.sum(1, /*keepdim=*/true).clamp_min(1);
}

torch::Tensor BlendedRows::of_features(const Batch& batch, std::size_t type) const {
  if (!by_features_[type]) return one_of_features_;
  return by_features_[type]->forward(rows_[type].of(batch)) + one_of_features_;
}

torch::Tensor BlendedRows::of_relations(const Batch& batch, std::size_t type) const {
  const torch::Tensor& into = relations_into_[type];
  if (into.numel() == 0) return one_of_relation_;
  const torch::Tensor codes = relation_codes_.index_select(0, into.to(relation_codes_.device()));
  return shares(batch, type).mm(codes.mm(by_relation_.t())) + one_of_relation_;
}

std::vector<torch::Tensor> BlendedRows::forward(const Batch& batch) const {
  const std::int64_t rank = options_.rank, width = options_.width;
  const torch::Tensor by_type =
      (type_codes_.mm(by_type_.t()) + one_of_type_).view({-1, rank, width}) * rank_weights_;
  std::vector<torch::Tensor> rows(rows_.size());
  for (std::size_t type = 0; type < rows.size(); ++type) {
    const std::int64_t count = batch.nodes.at(type).ids.numel();
    if (count == 0 || !read_[type]) continue;
    const torch::Tensor both = (of_features(batch, type) * of_relations(batch, type))
                                   .expand({count, rank * width})
                                   .reshape({count, rank, width});
    rows[type] = torch::relu((both * by_type[static_cast<std::int64_t>(type)]).sum(1) + bias_);
  }
  return rows;
}

}  // namespace sluice::models
