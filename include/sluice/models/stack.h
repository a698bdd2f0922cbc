// Stack: what models for one node type and one relation share: a TypedStack whose layers read and
// write the rows of the type that is asked for. A model says what its layers do.
#pragma once

#include <sluice/model.h>
#include <sluice/models/typed_stack.h>
#include <sluice/nn/layer_call.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::models {

/// What a layer of a stack reads.
enum class Reads {
  kBlocks,  ///< its block, of the only relation: as many layers of blocks as the stack has
  kRows     ///< its rows alone: the seeds' own features
};

/// The nodes' degrees as a tensor; throws kInternal where the batch has none.
torch::Tensor degrees_of(const BatchNodes& nodes);

class Stack : public TypedStack {
 public:
  std::int64_t num_layers() const final;

 protected:
  /// Throws kUsage where the target type has neither features nor learned rows, or, for `kBlocks`,
  /// where the dataset has several node types or relations.
  /// @param name the model's, for messages
  Stack(const StackOptions& options,
        const ModelContext& context,
        std::string_view name,
        Reads reads);

  std::size_t target_type() const { return target_type_; }

 private:
  /// What the layer does with its input. @param call its block is null but for `kBlocks`
  virtual torch::Tensor convolve(std::int64_t layer,
                                 const nn::LayerCall& call,
                                 const torch::Tensor& x,
                                 const Batch& batch) const = 0;

  TypedRows propagate(std::int64_t layer,
                      const nn::LayerCall& call,
                      const std::vector<nn::PendingRows>& x,
                      const Batch& batch) const final;
  nn::BlockRef block_of(const Batch& batch, std::int64_t layer) const;

  Reads reads_;
  std::size_t target_type_;
};

}  // namespace sluice::models
