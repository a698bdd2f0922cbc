#include <sluice/models/typed_stack.h>

#include "models/type_flow.h"
#include "nn/prelu_slope.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace sluice::models {
namespace {

// Of a graph of one node type: what there is of its nodes, as it is.
class PlainRows final : public InputRows {
 public:
  PlainRows(const ModelContext& context, std::string_view model) : rows_(context, 0) {
    if (rows_.width() == 0) throw_no_inputs(context, model);
  }

  std::int64_t width() const override { return rows_.width(); }
  std::vector<torch::Tensor> forward(const Batch& batch) const override {
    return {rows_.of(batch)};
  }

 private:
  NodeRows rows_;
};

std::vector<nn::LayerTypes> flow_of_one(const GraphSchema& schema,
                                        std::size_t type,
                                        std::int64_t layers) {
  std::vector<bool> only(schema.nodes.size(), false);
  only.at(type) = true;
  return {static_cast<std::size_t>(layers), nn::LayerTypes{only, only}};
}

}  // namespace

void StackOptions::describe(Schema& schema) {
  schema.field("layers", layers).help("layers, each one hop").range(1, 64);
  schema.field("hidden", hidden).help("columns between layers").range(1, 1 << 20);
  schema.field("dropout", dropout)
      .help("share of hidden elements zeroed in training")
      .range(0, 0.999);
  schema.field("input_dropout", input_dropout)
      .help("share of feature elements zeroed in training")
      .range(0, 0.999);
  schema
      .choice("norm",
              norm,
              {{"none", Norm::kNone, "none"},
               {"layer", Norm::kLayer, "each row by its own mean and deviation"},
               {"batch",
                Norm::kBatch,
                "each column by the mini-batch's mean and deviation; a mini-batch of one row by "
                "the running ones of those before, as in evaluation"}})
      .help("normalisation after each hidden layer");
  schema
      .choice("activation",
              activation,
              {{"relu", Activation::kRelu, "max(0, x)"},
               {"elu", Activation::kElu, "x above 0, exp(x) - 1 below"},
               {"prelu", Activation::kPrelu, "x above 0, x times a learned number below"}})
      .help("after each hidden layer");
  schema
      .choice("output_activation",
              output_activation,
              {{"none", OutputActivation::kNone, "none: what classes and targets are told by"},
               {"relu", OutputActivation::kRelu, "max(0, x)"},
               {"elu", OutputActivation::kElu, "x above 0, exp(x) - 1 below"},
               {"prelu", OutputActivation::kPrelu, "x above 0, x times a learned number below"}})
      .help("after the last layer, of embeddings that are learned without labels");
  schema.field("residual", residual)
      .help("add each hidden layer's input to its output, through a matrix where widths differ");
}

TypedStack::TypedStack(const StackOptions& options,
                       const ModelContext& context,
                       std::string_view name,
                       StackInputs own)
    : options_(options),
      one_type_(own.only_type.has_value() || context.schema.nodes.size() == 1),
      output_width_(context.output_width),
      flow_(own.only_type ? flow_of_one(context.schema, *own.only_type, options.layers)
                          : type_flow(context.schema, context.target_types, options.layers)),
      inputs_(std::move(own.rows)),
      executor_{context.threads, context.kernels} {
  if (!inputs_ && one_type_) inputs_ = std::make_shared<PlainRows>(context, name);
  if (!inputs_) {
    const std::vector<bool>& read = flow_.front().read;
    inputs_ = projected_ = std::make_shared<ProjectedRows>(context, name, read, options.hidden);
    if (own.execution)
      relation_first_ =
          std::make_shared<RelationFirst>(context, read, options.hidden, *own.execution);
  }
  register_module("inputs", inputs_);
  for (std::int64_t layer = 0; !is_last(layer); ++layer) {
    between_.emplace_back(context.schema.nodes.size());
    for (std::size_t type = 0; type < context.schema.nodes.size(); ++type)
      if (types_of(layer).written[type]) make_between(layer, type, context.key);
  }
  if (options.output_activation == OutputActivation::kPrelu)
    output_slope_ = register_parameter("output_slope", nn::first_prelu_slope());
}

void TypedStack::make_between(std::int64_t layer, std::size_t type, RandomKey key) {
  Between& between = between_[static_cast<std::size_t>(layer)][type];
  std::string number = fmt::format("{}", layer);
  RandomKey own = key.with("skip").with(static_cast<std::uint64_t>(layer));
  if (!one_type_) {
    number += fmt::format("_{}", type);
    own = own.with(type);
  }
  const std::int64_t width = width_out(layer);
  if (options_.residual && width_in(layer) != width)
    between.skip =
        register_module(fmt::format("skip{}", number),
                        std::make_shared<nn::Linear>(width_in(layer), width, nn::Bias::kNone, own));
  if (options_.norm == Norm::kLayer) {
    between.layer_norm = register_module(
        fmt::format("norm{}", number), torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  } else if (options_.norm == Norm::kBatch) {
    between.batch_norm =
        register_module(fmt::format("norm{}", number), torch::nn::BatchNorm1d(width));
  }
  if (options_.activation == Activation::kPrelu)
    between.slope = register_parameter(fmt::format("slope{}", number), nn::first_prelu_slope());
}

std::int64_t TypedStack::width_in(std::int64_t layer) const {
  return layer == 0 ? inputs_->width() : options_.hidden;
}

std::int64_t TypedStack::width_out(std::int64_t layer) const {
  return is_last(layer) ? output_width_ : options_.hidden;
}

std::vector<nn::BlockRef> TypedStack::blocks_of(const Batch& batch, std::int64_t layer) const {
  const auto at = static_cast<std::size_t>(layer);
  if (batch.layers.size() != flow_.size())
    throw Error(
        ErrorCode::kInternal,
        fmt::format("a batch of {} layers for a model of {}", batch.layers.size(), flow_.size()));
  std::vector<nn::BlockRef> blocks;
  for (const Block& block : batch.layers[at])
    if (flow_[at].written.at(block.target_type))
      blocks.push_back(std::make_shared<const Block>(block));
  return blocks;
}

std::vector<std::int64_t> TypedStack::targets_of(const Batch& batch, std::int64_t layer) const {
  const auto at = static_cast<std::size_t>(layer);
  std::vector<std::int64_t> targets;
  targets.reserve(batch.nodes.size());
  for (std::size_t type = 0; type < batch.nodes.size(); ++type)
    targets.push_back(flow_[at].written.at(type) ? batch.nodes[type].size_at.at(at + 1) : 0);
  return targets;
}

// One row has no deviation: it is taken by the running mean and deviation, which it leaves as they
// are.
torch::Tensor TypedStack::batch_normed(const torch::nn::BatchNorm1d& norm,
                                       const torch::Tensor& x) const {
  torch::nn::BatchNorm1d of = norm;
  if (!is_training() || x.size(0) > 1) return of->forward(x);
  return torch::batch_norm(x,
                           of->weight,
                           of->bias,
                           of->running_mean,
                           of->running_var,
                           /*training=*/false,
                           /*momentum=*/0,
                           of->options.eps(),
                           at::globalContext().userEnabledCuDNN());
}

void TypedStack::add_residuals(std::int64_t layer, const TypedRows& x, TypedRows& out) const {
  if (!options_.residual || is_last(layer)) return;
  const auto& between = between_[static_cast<std::size_t>(layer)];
  for (std::size_t type = 0; type < out.size(); ++type) {
    if (!out[type].defined() || !x[type].defined()) continue;
    const torch::Tensor own = x[type].narrow(0, 0, out[type].size(0));
    const auto& skip = between[type].skip;
    out[type] = out[type] + (skip ? skip->forward(own) : own);
  }
}

torch::Tensor TypedStack::finish(const Between& between, torch::Tensor out) const {
  if (options_.norm == Norm::kLayer) {
    torch::nn::LayerNorm norm = between.layer_norm;
    out = norm->forward(out);
  }
  if (options_.norm == Norm::kBatch) out = batch_normed(between.batch_norm, out);
  if (options_.activation == Activation::kPrelu) return torch::prelu(out, between.slope);
  // In place where nothing before it needs what it was for its gradient: rows of several types are
  // parts of one tensor at times.
  if (!one_type_)
    return options_.activation == Activation::kElu ? torch::elu(out) : torch::relu(out);
  return options_.activation == Activation::kElu ? torch::elu_(out) : torch::relu_(out);
}

void TypedStack::activate_outputs(TypedRows& rows) const {
  const auto bent = [this](const torch::Tensor& x) {
    switch (options_.output_activation) {
      case OutputActivation::kRelu:
        return torch::relu(x);
      case OutputActivation::kElu:
        return torch::elu(x);
      case OutputActivation::kPrelu:
        return torch::prelu(x, output_slope_);
      case OutputActivation::kNone:
        break;
    }
    return x;
  };
  for (torch::Tensor& each : rows)
    if (each.defined()) each = bent(each);
}

void TypedStack::drop_out(std::int64_t layer, const nn::LayerCall& call, TypedRows& x) const {
  const double rate = layer == 0 ? options_.input_dropout : options_.dropout;
  const RandomKey key = call.key.with("dropout");
  for (std::size_t type = 0; type < x.size(); ++type)
    if (x[type].defined())
      x[type] = nn::dropout(executor_, one_type_ ? key : key.with(type), rate, x[type]);
}

BatchNeeds TypedStack::needs() const {
  BatchNeeds needs = inputs_->needs();
  needs.deferred_features =
      relation_first_ && relation_first_->execution() == Execution::kRelationFirst;
  return needs;
}

nn::LayerCall TypedStack::call_of(std::int64_t layer) const {
  const RandomKey key = step_key().with("layer").with(static_cast<std::uint64_t>(layer));
  return {executor_, nullptr, key};
}

TypedRows TypedStack::apply(std::int64_t layer,
                            const nn::LayerCall& call,
                            const TypedRows& x,
                            const Batch& batch) const {
  TypedRows out = propagate(layer, call, nn::as_they_are(x), batch);
  add_residuals(layer, x, out);
  return out;
}

// What is dropped is elements of mapped rows.
TypedRows TypedStack::apply_first(const nn::LayerCall& call,
                                  const std::vector<nn::PendingRows>& x,
                                  const Batch& batch,
                                  bool training) const {
  if (options_.input_dropout > 0) {
    TypedRows rows = nn::whole(x);
    if (training) drop_out(0, call, rows);
    return apply(0, call, rows, batch);
  }
  TypedRows out = propagate(0, call, x, batch), own(x.size());
  for (std::size_t type = 0; options_.residual && type < x.size(); ++type)
    if (x[type].defined() && out[type].defined()) own[type] = x[type].first(out[type].size(0));
  add_residuals(0, own, out);
  return out;
}

void TypedStack::finish(std::int64_t layer, TypedRows& rows) const {
  if (is_last(layer)) return activate_outputs(rows);
  const auto& between = between_[static_cast<std::size_t>(layer)];
  for (std::size_t type = 0; type < rows.size(); ++type)
    if (rows[type].defined()) rows[type] = finish(between[type], rows[type]);
}

std::vector<torch::Tensor> TypedStack::layer_rows(std::int64_t layer,
                                                  const std::vector<torch::Tensor>& x,
                                                  const Batch& batch,
                                                  LayerCarry&) const {
  TypedRows out = apply(layer, call_of(layer), x, batch);
  finish(layer, out);
  return out;
}

TypedRows TypedStack::first_layer(const Batch& batch) const {
  const nn::LayerCall call = call_of(0);
  const bool training = is_training();  // now, not when the backward pass asks
  if (relation_first_) relation_first_->note(batch);
  if (!relation_first_ || relation_first_->execution() == Execution::kPlain)
    return apply_first(call, inputs_->pending(batch), batch, training);
  const auto kept = std::make_shared<const Batch>(batch);  // its arrays are handles
  const auto part = [this, call, training, kept](const std::vector<std::size_t>& types) {
    return apply_first(call, projected_->pending(*kept, types), *kept, training);
  };
  return relation_first_->sum(batch, parameters(), part);
}

Encoding TypedStack::encode(const Batch& batch) {
  TypedRows x = first_layer(batch);
  finish(0, x);
  for (std::int64_t layer = 1; layer < options_.layers; ++layer) {
    const nn::LayerCall call = call_of(layer);
    if (is_training()) drop_out(layer, call, x);
    x = apply(layer, call, x, batch);
    finish(layer, x);
  }
  return x;
}

}  // namespace sluice::models
