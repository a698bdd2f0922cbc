// TypedStack: what models of layers share, over any number of node types and relations: inputs,
// then layers one after the other, with dropout, normalisation, activation and residuals between
// them. A model says what its layers do.
//
// Of one node type the first layer reads what there is of its nodes (NodeRows); of several, rows
// that each type's own matrix brings to `hidden` columns (InputRows). A layer reads and writes rows
// by node type; types that the rows asked for do not depend on are left out.
#pragma once

#include <sluice/executor.h>
#include <sluice/model.h>
#include <sluice/models/input_rows.h>
#include <sluice/models/layerwise.h>
#include <sluice/models/relation_first.h>
#include <sluice/nn/layer_call.h>
#include <sluice/nn/pending_rows.h>
#include <sluice/nn/union_block.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::models {

enum class Norm { kNone, kLayer, kBatch };
enum class Activation { kRelu, kElu, kPrelu };
enum class OutputActivation { kNone, kRelu, kElu, kPrelu };

struct StackOptions {
  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  double dropout = 0.5;
  double input_dropout = 0;
  Norm norm = Norm::kNone;
  Activation activation = Activation::kRelu;
  OutputActivation output_activation = OutputActivation::kNone;
  bool residual = false;
  void describe(Schema& schema);
};

/// By node type: f32 [rows, columns]; undefined for a type without rows.
using TypedRows = std::vector<torch::Tensor>;

/// What a model has in the place of the inputs and types of a TypedStack.
struct StackInputs {
  std::shared_ptr<InputRows> rows = nullptr;  ///< null: as above
  std::optional<std::size_t> only_type = {};  ///< whose rows alone are read and written
  /// Of a model whose first layer adds up over node types: the order that is asked for.
  std::optional<Execution> execution = {};
};

class TypedStack : public Model, public Layerwise {
 public:
  Encoding encode(const Batch& batch) final;
  std::int64_t num_layers() const override { return options_.layers; }
  /// What the inputs need, and how they come.
  BatchNeeds needs() const override;
  /// The order of the first layer; null where there is no choice: of one node type, and of layers
  /// that do not add up over them.
  const RelationFirst* relation_first() const { return relation_first_.get(); }
  /// Itself, unless it looks at the seeds alone.
  const Layerwise* layerwise() const final { return num_layers() == 0 ? nullptr : this; }

  std::int64_t depth() const final { return options_.layers; }
  const nn::LayerTypes& layer_types(std::int64_t layer) const final { return types_of(layer); }
  std::int64_t columns(std::int64_t layer) const final {
    return layer == options_.layers ? output_width_ : width_in(layer);
  }
  std::vector<torch::Tensor> input_rows(const Batch& batch) const final {
    return inputs_->forward(batch);
  }
  std::vector<torch::Tensor> layer_rows(std::int64_t layer,
                                        const std::vector<torch::Tensor>& x,
                                        const Batch& batch,
                                        LayerCarry& carry) const final;

 protected:
  /// Throws kUsage where no node type that is read has features or learned rows.
  /// @param name the model's, for messages
  TypedStack(const StackOptions& options,
             const ModelContext& context,
             std::string_view name,
             StackInputs own = {});

  /// Columns that layer `layer` reads and writes.
  std::int64_t width_in(std::int64_t layer) const;
  std::int64_t width_out(std::int64_t layer) const;
  bool is_last(std::int64_t layer) const { return layer + 1 == options_.layers; }
  /// Node types that a layer reads and writes.
  const nn::LayerTypes& types_of(std::int64_t layer) const {
    return flow_.at(static_cast<std::size_t>(layer));
  }
  /// The blocks of a layer into types that it writes. Throws kInternal for a batch with fewer
  /// layers.
  std::vector<nn::BlockRef> blocks_of(const Batch& batch, std::int64_t layer) const;
  /// By node type: rows that a layer writes; 0 of types that it does not.
  std::vector<std::int64_t> targets_of(const Batch& batch, std::int64_t layer) const;

 private:
  /// What the layer makes of its input: rows of the batch's targets, of types that it writes.
  /// Where StackInputs::execution is given, also of the rows of some types alone: what these add.
  /// @param call has no block
  /// @param x of the first layer, rows whose maps may be still to come
  virtual TypedRows propagate(std::int64_t layer,
                              const nn::LayerCall& call,
                              const std::vector<nn::PendingRows>& x,
                              const Batch& batch) const = 0;

  // Of a hidden layer and a node type that it writes.
  struct Between {
    std::shared_ptr<nn::Linear> skip;  ///< null: the identity
    torch::nn::LayerNorm layer_norm{nullptr};
    torch::nn::BatchNorm1d batch_norm{nullptr};
    torch::Tensor slope;  // [1], of Activation::kPrelu
  };

  nn::LayerCall call_of(std::int64_t layer) const;
  /// What a layer makes of its input, residuals with it.
  TypedRows apply(std::int64_t layer,
                  const nn::LayerCall& call,
                  const TypedRows& x,
                  const Batch& batch) const;
  /// The same of layer 0, whose rows' maps may be still to come; input dropout is part of it.
  TypedRows apply_first(const nn::LayerCall& call,
                        const std::vector<nn::PendingRows>& x,
                        const Batch& batch,
                        bool training) const;
  void make_between(std::int64_t layer, std::size_t type, RandomKey key);
  torch::Tensor batch_normed(const torch::nn::BatchNorm1d& norm, const torch::Tensor& x) const;
  /// Residuals of a hidden layer's rows. @param x of some types or all
  void add_residuals(std::int64_t layer, const TypedRows& x, TypedRows& out) const;
  /// Norm and activation after a layer.
  void finish(std::int64_t layer, TypedRows& rows) const;
  torch::Tensor finish(const Between& between, torch::Tensor out) const;
  void activate_outputs(TypedRows& rows) const;
  /// Of the first layer: all at once, or a group of types at a time.
  TypedRows first_layer(const Batch& batch) const;
  void drop_out(std::int64_t layer, const nn::LayerCall& call, TypedRows& x) const;

  StackOptions options_;
  bool one_type_;  // of the dataset, or that is read
  std::int64_t output_width_;
  std::vector<nn::LayerTypes> flow_;
  std::shared_ptr<InputRows> inputs_;
  std::shared_ptr<ProjectedRows> projected_;  // the inputs, if these are they
  std::shared_ptr<RelationFirst> relation_first_;
  kernels::Executor executor_;
  std::vector<std::vector<Between>> between_;  // by hidden layer and node type
  torch::Tensor output_slope_;                 // [1], of OutputActivation::kPrelu
};

}  // namespace sluice::models
