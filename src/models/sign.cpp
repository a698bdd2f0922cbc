#include "models/sign.h"

#include "nn/prelu_slope.h"

#include <sluice/nn/block_ops.h>

#include <utility>

namespace sluice::models {

void Sign::Options::describe(Schema& schema) {
  schema.field("tables", tables)
      .help("feature tables to read, as [\"features\", \"sign-*\"]; none: all of the node type");
  schema.field("layers", layers)
      .help("layers of each table's MLP; 0: one matrix over all tables as they are, as SGC has it")
      .range(0, 64);
  schema.field("hidden", hidden).help("columns that a table becomes").range(1, 1 << 16);
  describe_table_dropouts(schema, dropout, table_dropout);
}

Sign::Sign(const Options& options, const ModelContext& context)
    : options_(options),
      inputs_(context, options.tables, "sign"),
      num_types_(context.schema.nodes.size()),
      executor_{context.threads, context.kernels} {
  std::int64_t width = 0;
  for (std::size_t table = 0; table < inputs_.size(); ++table) {
    const std::string name = "table" + std::to_string(table);
    const RandomKey key = context.key.with("table").with(table);
    of_table_.emplace_back();
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      const std::int64_t in = layer == 0 ? inputs_.widths()[table] : options.hidden;
      of_table_.back().push_back(register_module(
          name + "_layer" + std::to_string(layer),
          std::make_shared<nn::Linear>(
              in, options.hidden, nn::Bias::kZero, key.with(static_cast<std::uint64_t>(layer)))));
    }
    if (options.layers != 0)
      slopes_.push_back(register_parameter(name + "_slope", nn::first_prelu_slope()));
    width += options.layers == 0 ? inputs_.widths()[table] : options.hidden;
  }
  out_ =
      register_module("out",
                      std::make_shared<nn::Linear>(
                          width, context.output_width, nn::Bias::kZero, context.key.with("out")));
}

BatchNeeds Sign::needs() const {
  BatchNeeds needs;
  needs.feature_groups = inputs_.names();
  return needs;
}

torch::Tensor Sign::dropped(const RandomKey& key, double rate, const torch::Tensor& x) const {
  return is_training() ? nn::dropout(executor_, key, rate, x) : x;
}

Encoding Sign::encode(const Batch& batch) {
  std::vector<torch::Tensor> columns;
  for (std::size_t table = 0; table < inputs_.size(); ++table) {
    const RandomKey key = step_key().with("table").with(table);
    torch::Tensor x = dropped(key, options_.table_dropout, inputs_.rows(batch, table));
    for (std::size_t layer = 0; layer < of_table_[table].size(); ++layer) {
      x = torch::prelu(of_table_[table][layer]->forward(x), slopes_[table]);
      x = dropped(key.with("layer").with(layer), options_.dropout, x);
    }
    columns.push_back(std::move(x));
  }
  Encoding rows(num_types_);
  rows[inputs_.type()] = out_->forward(torch::cat(columns, 1));
  return rows;
}

}  // namespace sluice::models
