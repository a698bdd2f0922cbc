// Stack: what the models for one node type share: layers one after the other, with dropout,
// normalisation, activation and residuals between them. A model says what its layers do.
#pragma once

#include <sluice/model.h>
#include <sluice/nn/layer_call.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice::models {

enum class Norm { kNone, kLayer, kBatch };
enum class Activation { kRelu, kElu };

struct StackOptions {
  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  double dropout = 0.5;
  double input_dropout = 0;
  Norm norm = Norm::kNone;
  Activation activation = Activation::kRelu;
  bool residual = false;
  void describe(Schema& schema);
};

/// What a layer of a stack reads.
enum class Reads {
  kBlocks,     ///< its block, of the only relation: as many layers of blocks as the stack has
  kRelations,  ///< its blocks, one a relation: Batch::layers
  kRows        ///< its rows alone: the seeds' own features
};

/// The nodes' degrees as a tensor; throws kInternal where the batch has none.
torch::Tensor degrees_of(const BatchNodes& nodes);

class Stack : public Model {
 public:
  Encoding encode(const Batch& batch) final;
  std::int64_t num_layers() const final;

 protected:
  /// Throws kUsage where the target type has neither features nor learned rows, or, but for
  /// `kRows`, where the dataset has several node types, or for `kBlocks` several relations.
  /// @param name the model's, for messages
  Stack(const StackOptions& options,
        const ModelContext& context,
        std::string_view name,
        Reads reads);

  /// Columns that layer `layer` reads and writes.
  std::int64_t width_in(std::int64_t layer) const;
  std::int64_t width_out(std::int64_t layer) const;
  bool is_last(std::int64_t layer) const { return layer + 1 == options_.layers; }
  std::size_t target_type() const { return target_type_; }

 private:
  /// What the layer does with its input. @param call its block is null but for `kBlocks`
  virtual torch::Tensor convolve(std::int64_t layer,
                                 const nn::LayerCall& call,
                                 const torch::Tensor& x,
                                 const Batch& batch) const = 0;

  torch::Tensor input_rows(const Batch& batch) const;
  nn::BlockRef block_of(const Batch& batch, std::int64_t layer) const;
  torch::Tensor batch_normed(std::size_t layer, const torch::Tensor& x);
  /// Residual, norm and activation after a hidden layer.
  torch::Tensor finish(std::int64_t layer, torch::Tensor out, const torch::Tensor& x);

  StackOptions options_;
  Reads reads_;
  std::size_t target_type_;
  std::int64_t input_width_, output_width_;
  std::int64_t feature_width_;  // of the input's columns; learned rows follow
  nn::LearnedRows* rows_;
  kernels::Executor executor_;
  std::vector<std::shared_ptr<nn::Linear>> skips_;  ///< by hidden layer; null: the identity
  std::vector<torch::nn::LayerNorm> layer_norms_;
  std::vector<torch::nn::BatchNorm1d> batch_norms_;
};

}  // namespace sluice::models
