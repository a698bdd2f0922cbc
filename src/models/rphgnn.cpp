#include "models/rphgnn.h"

#include "nn/prelu_slope.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::models {
namespace {

using torch::Tensor;

// The tables of the options, and behind them the one that even rounds begin with.
TableInputs all_inputs(const RpHgnn::Options& options, const ModelContext& context) {
  TableInputs inputs(context, options.tables, "rphgnn");
  const std::string& zero = options.round_zero;
  const bool wanted =
      !zero.empty() && std::ranges::any_of(group_tables(inputs.names()), &TableGroup::even);
  if (!wanted || inputs.find(zero) != inputs.size()) return inputs;
  const NodeTypeSchema& node = context.schema.nodes.at(inputs.type());
  if (std::ranges::count(node.features, zero, &FeatureSchema::name) == 0)
    throw Error(ErrorCode::kUsage,
                fmt::format("model 'rphgnn': node type '{}' has no feature table '{}', which even "
                            "rounds begin with",
                            node.name,
                            zero),
                "name the table that was propagated: model.round_zero; \"\" begins with round 1");
  std::vector<std::string> names = inputs.names();
  names.push_back(zero);
  return {context, names, "rphgnn"};
}

}  // namespace

void RpHgnn::Options::describe(Schema& schema) {
  schema.field("tables", tables)
      .help(
          "feature tables to read, as [\"projected-*\", \"labels-*\"]; none: all of the node type");
  schema.field("round_zero", round_zero)
      .help("table of the node's own rows, which even rounds begin with; empty: none");
  schema.field("filters", filters).help("mixtures of a relation's rounds").range(1, 64);
  schema.field("hidden", hidden).help("columns that a group of tables becomes").range(1, 1 << 14);
  schema.field("group_layers", group_layers).help("layers of each group's MLP").range(1, 64);
  schema.field("layers", layers).help("layers of the MLP over all groups").range(1, 64);
  schema
      .choice("merge",
              merge,
              {{"concat", Merge::kConcat, "side by side"},
               {"mean", Merge::kMean, "their mean: the width does not grow with relations"}})
      .help("how groups come together");
  describe_table_dropouts(schema, dropout, table_dropout);
}

RpHgnn::RpHgnn(const Options& options, const ModelContext& context)
    : options_(options),
      inputs_(all_inputs(options, context)),
      num_types_(context.schema.nodes.size()),
      key_(context.key),
      executor_{context.threads, context.kernels},
      groups_(group_tables(TableInputs(context, options.tables, "rphgnn").names())) {
  if (inputs_.size() > inputs_.names().size())
    groups_.push_back({"learned rows", {inputs_.names().size()}});
  add_round_zero();
  for (std::size_t group = 0; group < groups_.size(); ++group) add_encoder(group);
  add_last(context.output_width);
}

// Puts the node's own rows before the rounds of each even group.
void RpHgnn::add_round_zero() {
  for (TableGroup& group : groups_) {
    if (group.even && !options_.round_zero.empty())
      group.tables.insert(group.tables.begin(), inputs_.find(options_.round_zero));
    for (const std::size_t table : group.tables) {
      if (inputs_.widths()[table] == inputs_.widths()[group.tables.back()]) continue;
      throw Error(
          ErrorCode::kUsage,
          fmt::format("model 'rphgnn': table '{}' has {} columns, and '{}', of the same rounds, {}",
                      inputs_.names()[table],
                      inputs_.widths()[table],
                      inputs_.names()[group.tables.back()],
                      inputs_.widths()[group.tables.back()]),
          "propagate all rounds at once, of the table that is model.round_zero, or set that to "
          "\"\"");
    }
  }
}

RpHgnn::Layer RpHgnn::make_layer(const std::string& name, std::int64_t in, std::int64_t out) {
  return {register_module(name,
                          std::make_shared<nn::Linear>(in, out, nn::Bias::kZero, key_.with(name))),
          register_parameter(name + "_slope", nn::first_prelu_slope())};
}

void RpHgnn::add_encoder(std::size_t group) {
  const std::string name = "group" + std::to_string(group);
  const std::vector<std::size_t>& tables = groups_[group].tables;
  const auto rounds = static_cast<std::int64_t>(tables.size());
  const std::int64_t filters = rounds == 1 ? 1 : options_.filters;
  Encoder encoder;
  encoder.filters = register_parameter(
      name + "_filters",
      nn::glorot(key_.with(name).with("filters"), {filters, rounds}, rounds, filters));
  encoder.shifts = register_parameter(name + "_shifts", nn::zeros({filters, 1}));
  std::int64_t in = filters * inputs_.widths()[tables.front()];
  for (std::int64_t layer = 0; layer < options_.group_layers; ++layer) {
    encoder.layers.push_back(
        make_layer(name + "_layer" + std::to_string(layer), in, options_.hidden));
    in = options_.hidden;
  }
  encoders_.push_back(std::move(encoder));
}

void RpHgnn::add_last(std::int64_t output_width) {
  const auto beside =
      options_.merge == Merge::kMean ? 1 : static_cast<std::int64_t>(groups_.size());
  std::int64_t in = beside * options_.hidden;
  for (std::int64_t layer = 0; layer + 1 < options_.layers; ++layer) {
    hidden_.push_back(make_layer("joined" + std::to_string(layer), in, options_.hidden));
    in = options_.hidden;
  }
  out_ = register_module(
      "out", std::make_shared<nn::Linear>(in, output_width, nn::Bias::kZero, key_.with("out")));
}

BatchNeeds RpHgnn::needs() const {
  BatchNeeds needs;
  needs.feature_groups = inputs_.names();
  return needs;
}

Tensor RpHgnn::dropped(std::string_view what, double rate, const Tensor& x) const {
  return is_training() ? nn::dropout(executor_, step_key().with(what), rate, x) : x;
}

// Each filter's sum over the rounds: f32 [seeds, filters * columns], a filter's columns together.
Tensor RpHgnn::mixed(const Batch& batch, std::size_t group) const {
  const Encoder& encoder = encoders_[group];
  std::vector<Tensor> rounds;
  for (const std::size_t table : groups_[group].tables) {
    const Tensor x = dropped("group" + std::to_string(group) + "_table" + std::to_string(table),
                             options_.table_dropout,
                             inputs_.rows(batch, table));
    rounds.push_back(x.flatten());
  }
  const std::int64_t seeds = batch.num_seeds(inputs_.type()), filters = encoder.filters.size(0);
  const std::int64_t columns = inputs_.widths()[groups_[group].tables.front()];
  const Tensor sums = torch::matmul(encoder.filters, torch::stack(rounds)) + encoder.shifts;
  return sums.view({filters, seeds, columns}).transpose(0, 1).reshape({seeds, filters * columns});
}

Tensor RpHgnn::encoded(const Batch& batch, std::size_t group) const {
  Tensor x = mixed(batch, group);
  const std::vector<Layer>& layers = encoders_[group].layers;
  for (std::size_t at = 0; at < layers.size(); ++at) {
    x = torch::prelu(layers[at].linear->forward(x), layers[at].slope);
    x = dropped(
        "group" + std::to_string(group) + "_layer" + std::to_string(at), options_.dropout, x);
  }
  return x;
}

Encoding RpHgnn::encode(const Batch& batch) {
  std::vector<Tensor> groups;
  groups.reserve(groups_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group)
    groups.push_back(encoded(batch, group));
  Tensor x = options_.merge == Merge::kMean ? torch::stack(groups).mean(0) : torch::cat(groups, 1);
  for (std::size_t at = 0; at < hidden_.size(); ++at) {
    x = torch::prelu(hidden_[at].linear->forward(x), hidden_[at].slope);
    x = dropped("joined" + std::to_string(at), options_.dropout, x);
  }
  Encoding rows(num_types_);
  rows[inputs_.type()] = out_->forward(x);
  return rows;
}

}  // namespace sluice::models
