// NodeRows: what there is of a node type's nodes before any weights: its first group of features,
// and behind it, where [embedding] learns some, the nodes' learned rows.
#pragma once

#include <sluice/model.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

namespace sluice::models {

class NodeRows {
 public:
  /// @param context its rows must outlive this
  NodeRows(const ModelContext& context, std::size_t type);

  /// Columns; 0 for a type with neither.
  std::int64_t width() const { return feature_width_ + learned_width_; }
  /// f32 [nodes, width()], features gathered now where they are Batch::deferred; undefined where
  /// there are no columns, or no nodes of the type. Throws kInternal for a batch without the
  /// features.
  torch::Tensor of(const Batch& batch) const;

 private:
  std::size_t type_;
  std::int64_t feature_width_, learned_width_;
  nn::LearnedRows* rows_;
};

}  // namespace sluice::models
