// What the model tests share: a run described as in a config file, and whole graphs as batches.
#pragma once

#include "support/blocks.h"

#include <sluice/tasks/node_task.h>
#include <sluice/train.h>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::testing {

/// The [model] and [optimizer] tables of a config.
struct RunOptions {
  Selection model, optimizer;

  explicit RunOptions(const std::string& toml) {
    const ModelCatalog models = builtin_models();
    const OptimizerCatalog optimizers = builtin_optimizers();
    Schema schema;
    schema.selection("model", model, models);
    schema.selection("optimizer", optimizer, optimizers);
    Config::parse(toml, "test.toml").bind(schema);
  }
};

inline OptimizerContext parameters_of(const Model& model) {
  OptimizerContext context;
  for (const auto& item : model.named_parameters()) {
    context.parameters.push_back({item.key(), item.value()});
  }
  return context;
}

inline tasks::NodeTask& node_task(const std::unique_ptr<Task>& task) {
  return dynamic_cast<tasks::NodeTask&>(*task);
}

/// One node type "node" with features and labels, one relation "edge".
inline GraphSchema homogeneous_schema(std::uint64_t count, std::uint32_t dim, LabelSchema labels) {
  GraphSchema schema;
  schema.nodes.resize(1);
  schema.nodes[0].name = "node";
  schema.nodes[0].count = count;
  schema.nodes[0].features.push_back({"features", DType::kF32, count, dim});
  schema.nodes[0].labels = labels;
  schema.relations.resize(1);
  schema.relations[0].source = schema.relations[0].target = "node";
  schema.relations[0].name = "edge";
  return schema;
}

/// All nodes are seeds, and each of the layers is the whole graph. Labels are left empty.
inline Batch whole_graph(const std::vector<std::vector<std::int32_t>>& neighbours_of,
                         Array features,
                         std::size_t num_layers) {
  const auto count = static_cast<std::int64_t>(neighbours_of.size());
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> degrees;
  for (const auto& neighbours : neighbours_of) {
    ids.push_back(ids.size());
    degrees.push_back(static_cast<std::int64_t>(neighbours.size()));
  }
  Batch batch;
  batch.seeds = {array_of(ids)};
  batch.nodes.resize(1);
  batch.nodes[0].ids = batch.seeds[0];
  batch.nodes[0].features = {std::move(features)};
  batch.nodes[0].degrees = array_of(degrees);
  batch.nodes[0].relation_degrees = array_of(degrees, {count, 1});
  batch.nodes[0].size_at.assign(num_layers + 1, count);
  batch.layers.assign(num_layers, {make_block(count, neighbours_of)});
  return batch;
}

}  // namespace sluice::testing
