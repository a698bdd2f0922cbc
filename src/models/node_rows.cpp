#include <sluice/models/node_rows.h>

#include "nn/seen_features.h"

#include <sluice/error.h>
#include <sluice/nn/batch_features.h>
#include <sluice/nn/learned_rows.h>

#include <fmt/format.h>

namespace sluice::models {

NodeRows::NodeRows(const ModelContext& context, std::size_t type)
    : type_(type),
      feature_width_(context.schema.nodes.at(type).features.empty()
                         ? 0
                         : std::int64_t{context.schema.nodes[type].features[0].dim}),
      learned_width_(context.rows == nullptr ? 0 : context.rows->dim(type)),
      rows_(context.rows) {}

torch::Tensor NodeRows::of(const Batch& batch) const {
  if (width() == 0 || batch.nodes.at(type_).ids.numel() == 0) return {};
  torch::Tensor rows;
  if (feature_width_ != 0) {
    const torch::Tensor* const seen = nn::SeenFeatures::of(type_);
    if (seen != nullptr && learned_width_ != 0)
      throw Error(ErrorCode::kUsage,
                  "features cannot be masked beside learned rows, which would tell what they were",
                  "set embedding.dim = 0, or leave the node type out of embedding.types");
    rows = seen != nullptr ? *seen : nn::features_of(batch, type_);
    if (rows.dim() != 2 || rows.size(1) != feature_width_)
      throw Error(
          ErrorCode::kInternal,
          fmt::format("a batch without the {} feature columns of its model", feature_width_));
  }
  if (learned_width_ == 0) return rows;
  const torch::Tensor& learned = rows_->rows(type_);
  return rows.defined() ? torch::cat({rows, learned}, 1) : learned;
}

}  // namespace sluice::models
