// InputRows: the rows that a model's first layer reads, by node type, all equally wide.
//
// ProjectedRows is what models over several node types take unless they say otherwise: what a type
// has (NodeRows), each type through a matrix of its own to one width. A type that has nothing gets
// one learned row, the same for all its nodes.
#pragma once

#include <sluice/model.h>
#include <sluice/models/node_rows.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/pending_rows.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice::models {

class InputRows : public torch::nn::Module {
 public:
  ~InputRows() override = default;

  /// Columns.
  virtual std::int64_t width() const = 0;
  /// What they need of a batch.
  virtual BatchNeeds needs() const { return {}; }
  /// By node type: f32 [nodes, width()]; undefined for a type that is not read, or has no nodes.
  virtual std::vector<torch::Tensor> forward(const Batch& batch) const = 0;
  /// The same, with maps still to come where rows are made by one.
  virtual std::vector<nn::PendingRows> pending(const Batch& batch) const {
    return nn::as_they_are(forward(batch));
  }
};

class ProjectedRows final : public InputRows {
 public:
  /// Throws kUsage where no type that is read has features or learned rows.
  /// @param read by node type @param model its name, for messages
  ProjectedRows(const ModelContext& context,
                std::string_view model,
                const std::vector<bool>& read,
                std::int64_t width);

  std::int64_t width() const override { return width_; }
  std::vector<torch::Tensor> forward(const Batch& batch) const override {
    return nn::whole(pending(batch));
  }
  std::vector<nn::PendingRows> pending(const Batch& batch) const override;
  /// The same of some types alone: the others' are undefined.
  std::vector<nn::PendingRows> pending(const Batch& batch,
                                       const std::vector<std::size_t>& types) const;

 private:
  nn::PendingRows rows_of(const Batch& batch, std::size_t type) const;

  // Of a node type; null and undefined of one that is not read.
  struct Type {
    NodeRows rows;
    std::shared_ptr<nn::Linear> linear;  // null: the constant
    torch::Tensor constant;              // f32 [1, width]
  };

  std::int64_t width_;
  std::vector<Type> types_;
};

/// Throws kUsage: none of the types that a model reads has anything to be told by.
[[noreturn]] void throw_no_inputs(const ModelContext& context, std::string_view model);

}  // namespace sluice::models
