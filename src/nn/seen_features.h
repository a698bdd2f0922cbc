// SeenFeatures: other feature rows than a batch's, for models that read rows by models/node_rows.h.
//
// While one lives, models that run on this thread read its rows in the place of a batch's first
// group of features of a node type. So what is masked may be learned: the batch's own arrays are no
// part of a graph of gradients. One at a time. Used by tasks that run a model over several views.
#pragma once

#include <torch/torch.h>

#include <cstddef>

namespace sluice::nn {

class SeenFeatures {
 public:
  /// @param rows f32 [nodes of the type in the batch, its feature columns]; any gradient
  SeenFeatures(std::size_t type, torch::Tensor rows);
  SeenFeatures(const SeenFeatures&) = delete;
  SeenFeatures& operator=(const SeenFeatures&) = delete;
  ~SeenFeatures();

  /// Whether a model has read them.
  bool read() const { return read_; }

  /// The rows that are seen on this thread in the place of a type's; null: the batch's own. Called
  /// by models.
  static const torch::Tensor* of(std::size_t type);

 private:
  std::size_t type_;
  torch::Tensor rows_;
  bool read_ = false;
};

}  // namespace sluice::nn
