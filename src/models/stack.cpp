#include <sluice/models/stack.h>

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <string>

namespace sluice::models {
namespace {

void check_homogeneous(const GraphSchema& schema, std::string_view name, Reads reads) {
  const bool any = reads == Reads::kRelations;
  if (schema.nodes.size() == 1 && (any || schema.relations.size() == 1)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' is for one node type{}; this dataset has {} node types and "
                          "{} relations",
                          name,
                          any ? "" : " and one relation",
                          schema.nodes.size(),
                          schema.relations.size()),
              "choose a model for heterogeneous graphs, or import the relation by itself");
}

std::size_t only_type(const ModelContext& context, std::string_view name) {
  if (context.target_types.size() == 1) return context.target_types[0];
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' gives rows of one node type, the task asks for those of {}",
                          name,
                          context.target_types.size()),
              "choose a model for heterogeneous graphs, or a relation between nodes of one type");
}

std::int64_t feature_width(const GraphSchema& schema, std::size_t type) {
  const NodeTypeSchema& nodes = schema.nodes.at(type);
  return nodes.features.empty() ? 0 : nodes.features[0].dim;
}

std::int64_t learned_width(const ModelContext& context, std::size_t type) {
  return context.rows == nullptr ? 0 : context.rows->dim(type);
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
               {"elu", Activation::kElu, "x above 0, exp(x) - 1 below"}})
      .help("after each hidden layer");
  schema.field("residual", residual)
      .help("add each hidden layer's input to its output, through a matrix where widths differ");
}

torch::Tensor degrees_of(const BatchNodes& nodes) {
  if (nodes.degrees.numel() == nodes.ids.numel()) return nn::as_tensor(nodes.degrees);
  throw Error(ErrorCode::kInternal, "a batch without the degrees that its model needs");
}

Stack::Stack(const StackOptions& options,
             const ModelContext& context,
             std::string_view name,
             Reads reads)
    : options_(options),
      reads_(reads),
      target_type_(only_type(context, name)),
      output_width_(context.output_width),
      feature_width_(feature_width(context.schema, target_type_)),
      rows_(context.rows),
      executor_{context.threads, context.kernels} {
  if (reads != Reads::kRows) check_homogeneous(context.schema, name, reads);
  input_width_ = feature_width_ + learned_width(context, target_type_);
  if (input_width_ == 0)
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' needs node features, and '{}' has none",
                            name,
                            context.schema.nodes.at(target_type_).name),
                "import features for this node type, or learn rows: embedding.dim = 64");
  for (std::int64_t layer = 0; !is_last(layer); ++layer) {
    const std::string number = std::to_string(layer);
    if (options.residual) {
      skips_.push_back(nullptr);
      if (width_in(layer) != width_out(layer)) {
        const RandomKey key = context.key.with("skip").with(static_cast<std::uint64_t>(layer));
        skips_.back() = register_module(
            "skip" + number,
            std::make_shared<nn::Linear>(width_in(layer), width_out(layer), nn::Bias::kNone, key));
      }
    }
    const std::int64_t width = width_out(layer);
    if (options.norm == Norm::kLayer) {
      layer_norms_.push_back(register_module(
          "norm" + number, torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}))));
    } else if (options.norm == Norm::kBatch) {
      batch_norms_.push_back(register_module("norm" + number, torch::nn::BatchNorm1d(width)));
    }
  }
}

std::int64_t Stack::num_layers() const {
  return reads_ == Reads::kRows ? 0 : options_.layers;
}

std::int64_t Stack::width_in(std::int64_t layer) const {
  return layer == 0 ? input_width_ : options_.hidden;
}

std::int64_t Stack::width_out(std::int64_t layer) const {
  return is_last(layer) ? output_width_ : options_.hidden;
}

// Features, then learned rows.
torch::Tensor Stack::input_rows(const Batch& batch) const {
  torch::Tensor rows;
  if (feature_width_ != 0) {
    rows = nn::as_tensor(batch.features(target_type_));
    if (rows.dim() != 2 || rows.size(1) != feature_width_)
      throw Error(
          ErrorCode::kInternal,
          fmt::format("a batch without the {} feature columns of its model", feature_width_));
  }
  if (input_width_ != feature_width_) {
    const torch::Tensor& learned = rows_->rows(target_type_);
    rows = rows.defined() ? torch::cat({rows, learned}, 1) : learned;
  }
  return reads_ == Reads::kRows ? rows.narrow(0, 0, batch.num_seeds(target_type_)) : rows;
}

nn::BlockRef Stack::block_of(const Batch& batch, std::int64_t layer) const {
  if (reads_ == Reads::kRows) return nullptr;
  const auto at = static_cast<std::size_t>(layer);
  const bool any = reads_ == Reads::kRelations;
  if (batch.layers.size() != static_cast<std::size_t>(options_.layers) ||
      (!any && batch.layers[at].size() != 1)) {
    throw Error(ErrorCode::kInternal,
                fmt::format("a batch of {} layers for a model of {}, or not of one relation",
                            batch.layers.size(),
                            options_.layers));
  }
  return any ? nullptr : std::make_shared<const Block>(batch.layers[at][0]);
}

// One row has no deviation: it is taken by the running mean and deviation, which it leaves as they
// are.
torch::Tensor Stack::batch_normed(std::size_t at, const torch::Tensor& x) {
  torch::nn::BatchNorm1d& norm = batch_norms_[at];
  if (!is_training() || x.size(0) > 1) return norm->forward(x);
  return torch::batch_norm(x,
                           norm->weight,
                           norm->bias,
                           norm->running_mean,
                           norm->running_var,
                           /*training=*/false,
                           /*momentum=*/0,
                           norm->options.eps(),
                           at::globalContext().userEnabledCuDNN());
}

torch::Tensor Stack::finish(std::int64_t layer, torch::Tensor out, const torch::Tensor& x) {
  const auto at = static_cast<std::size_t>(layer);
  if (options_.residual) {
    const torch::Tensor own = x.narrow(0, 0, out.size(0));
    out = out + (skips_[at] ? skips_[at]->forward(own) : own);
  }
  if (options_.norm == Norm::kLayer) out = layer_norms_[at]->forward(out);
  if (options_.norm == Norm::kBatch) out = batch_normed(at, out);
  // In place: nothing before it needs what it was for its gradient.
  return options_.activation == Activation::kElu ? torch::elu_(out) : torch::relu_(out);
}

Encoding Stack::encode(const Batch& batch) {
  torch::Tensor x = input_rows(batch);
  for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
    const nn::LayerCall call{executor_,
                             block_of(batch, layer),
                             step_key().with("layer").with(static_cast<std::uint64_t>(layer))};
    if (is_training()) {
      const double rate = layer == 0 ? options_.input_dropout : options_.dropout;
      x = nn::dropout(call.executor, call.key.with("dropout"), rate, x);
    }
    torch::Tensor out = convolve(layer, call, x, batch);
    x = is_last(layer) ? out : finish(layer, std::move(out), x);
  }
  Encoding rows(batch.nodes.size());
  rows[target_type_] = std::move(x);
  return rows;
}

}  // namespace sluice::models
