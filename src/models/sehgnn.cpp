#include "models/sehgnn.h"

#include "nn/prelu_slope.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::models {
namespace {

using torch::Tensor;

constexpr double kLeak = 0.2;  // of attention's logits
constexpr std::int64_t kLabelLayers = 4;

// Label tables are read like all others, and once more by themselves.
std::vector<std::string> all_tables(const SeHgnn::Options& options) {
  if (options.tables.empty()) return {};
  std::vector<std::string> all = options.tables;
  all.insert(all.end(), options.label_tables.begin(), options.label_tables.end());
  return all;
}

// All rows of all tables by one layer. @param x [seeds, tables, columns]
Tensor by_rows(const nn::Linear& layer, const Tensor& x) {
  return layer.forward(x.flatten(0, 1)).view({x.size(0), x.size(1), layer.out()});
}

}  // namespace

void SeHgnn::Options::describe(Schema& schema) {
  schema.field("tables", tables)
      .help(
          "feature tables to read, as [\"features\", \"metapaths-*\"]; none: all of the node type");
  schema.field("label_tables", label_tables)
      .help("tables of propagated labels, as [\"labels-*\"]: read too, and their mean by itself");
  schema.field("hidden", hidden).help("columns that a table becomes").range(4, 1 << 14);
  schema.field("layers", layers).help("layers behind the fusion").range(1, 64);
  describe_table_dropouts(schema, dropout, table_dropout);
}

SeHgnn::SeHgnn(const Options& options, const ModelContext& context)
    : options_(options),
      inputs_(context, all_tables(options), "sehgnn"),
      num_types_(context.schema.nodes.size()),
      key_(context.key),
      executor_{context.threads, context.kernels} {
  const auto tables = static_cast<std::int64_t>(inputs_.size());
  const std::int64_t hidden = options.hidden, attended = std::max<std::int64_t>(1, hidden / 4);
  for (std::size_t table = 0; table < inputs_.size(); ++table)
    of_table_.push_back(
        add_linear("table" + std::to_string(table), inputs_.widths()[table], hidden));
  by_table_ = register_parameter(
      "by_table", nn::glorot(key_.with("by_table"), {tables, hidden, hidden}, hidden, hidden));
  by_table_bias_ = register_parameter("by_table_bias", nn::zeros({tables, hidden}));
  const auto norm = [&](const char* name, std::vector<std::int64_t> shape) {
    return register_module(name,
                           torch::nn::LayerNorm(torch::nn::LayerNormOptions(std::move(shape))));
  };
  first_norm_ = norm("first_norm", {tables, hidden});
  second_norm_ = norm("second_norm", {tables, hidden});
  query_ = add_linear("query", hidden, attended);
  keys_ = add_linear("keys", hidden, attended);
  values_ = add_linear("values", hidden, hidden);
  gain_ = register_parameter("gain", nn::zeros({1}));
  joined_ = add_linear("joined", tables * hidden, hidden);
  own_ = add_linear("own", inputs_.widths().front(), hidden);
  for (const char* name : {"first_slope", "second_slope", "joined_slope"}) add_slope(name);
  out_norm_ = norm("out_norm", {hidden});
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const bool last = layer + 1 == options.layers;
    last_.push_back(
        add_linear("last" + std::to_string(layer), hidden, last ? context.output_width : hidden));
    if (!last) add_slope("last_slope" + std::to_string(layer));
  }
  if (!options.label_tables.empty()) add_label_layers(context);
}

std::shared_ptr<nn::Linear> SeHgnn::add_linear(const std::string& name,
                                               std::int64_t in,
                                               std::int64_t out) {
  return register_module(name,
                         std::make_shared<nn::Linear>(in, out, nn::Bias::kZero, key_.with(name)));
}

void SeHgnn::add_slope(const std::string& name) {
  slopes_.push_back(register_parameter(name, nn::first_prelu_slope()));
}

void SeHgnn::add_label_layers(const ModelContext& context) {
  const TableInputs labels(context, options_.label_tables, "sehgnn");
  for (const std::string& name : labels.names()) {
    label_tables_.push_back(inputs_.find(name));
    if (inputs_.widths()[label_tables_.back()] != inputs_.widths()[label_tables_.front()])
      throw Error(ErrorCode::kUsage,
                  "model 'sehgnn': label_tables are of several widths: '" + labels.names().front() +
                      "', '" + name + "'",
                  "name tables of the same labels: model.label_tables = [\"labels-*\"]");
  }
  std::int64_t in = inputs_.widths()[label_tables_.front()];
  for (std::int64_t layer = 0; layer < kLabelLayers; ++layer) {
    const bool last = layer + 1 == kLabelLayers;
    const std::int64_t out = last ? context.output_width : options_.hidden;
    of_labels_.push_back(add_linear("labels" + std::to_string(layer), in, out));
    in = out;
  }
}

BatchNeeds SeHgnn::needs() const {
  BatchNeeds needs;
  needs.feature_groups = inputs_.names();
  return needs;
}

Tensor SeHgnn::dropped(std::string_view what, double rate, const Tensor& x) const {
  return is_training() ? nn::dropout(executor_, step_key().with(what), rate, x) : x;
}

// A row a table: two layers of its own each, normalised together.
Tensor SeHgnn::project(const Batch& batch) const {
  std::vector<Tensor> rows;
  for (std::size_t table = 0; table < inputs_.size(); ++table) {
    const Tensor x = dropped(
        "table" + std::to_string(table), options_.table_dropout, inputs_.rows(batch, table));
    rows.push_back(of_table_[table]->forward(x));
  }
  Tensor x = torch::stack(rows, 1);
  x = dropped("first", options_.dropout, torch::prelu(first_norm_->forward(x), slopes_[0]));
  // [tables, seeds, hidden] by a matrix a table.
  x = torch::bmm(x.transpose(0, 1), by_table_).transpose(0, 1) + by_table_bias_;
  x = torch::prelu(second_norm_->forward(x.contiguous()), slopes_[1]);
  return dropped("second", options_.dropout, x);
}

Tensor SeHgnn::attention(const Tensor& x) const {
  const double scale = 1 / std::sqrt(static_cast<double>(query_->out()));
  const Tensor logits = torch::bmm(by_rows(*query_, x) * scale, by_rows(*keys_, x).transpose(1, 2));
  return torch::softmax(torch::leaky_relu(logits, kLeak), 2);
}

Tensor SeHgnn::fuse(const Tensor& x) const {
  return x + gain_ * torch::bmm(attention(x), by_rows(*values_, x));
}

Tensor SeHgnn::told_by_labels(const Batch& batch) const {
  Tensor mean = inputs_.rows(batch, label_tables_.front());
  for (std::size_t at = 1; at < label_tables_.size(); ++at)
    mean = mean + inputs_.rows(batch, label_tables_[at]);
  Tensor x = mean / static_cast<double>(label_tables_.size());
  for (std::size_t layer = 0; layer < of_labels_.size(); ++layer) {
    x = of_labels_[layer]->forward(x);
    if (layer + 1 == of_labels_.size()) break;
    x = dropped("labels" + std::to_string(layer), options_.dropout, torch::relu(x));
  }
  return x;
}

Encoding SeHgnn::encode(const Batch& batch) {
  Tensor x = joined_->forward(fuse(project(batch)).flatten(1));
  x = x + own_->forward(inputs_.rows(batch, 0));
  x = dropped("joined", options_.dropout, torch::prelu(out_norm_->forward(x), slopes_[2]));
  for (std::size_t layer = 0; layer < last_.size(); ++layer) {
    x = last_[layer]->forward(x);
    if (layer + 1 == last_.size()) break;
    x = torch::prelu(x, slopes_[3 + layer]);
    x = dropped("last" + std::to_string(layer), options_.dropout, x);
  }
  if (!label_tables_.empty()) x = x + told_by_labels(batch);
  Encoding rows(num_types_);
  rows[inputs_.type()] = std::move(x);
  return rows;
}

}  // namespace sluice::models
