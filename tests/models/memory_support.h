// What the tests of models that remember nodes share: rows of state in memory, and mini-batches of
// a small list of events.
#pragma once

#include "models/support.h"
#include "storage/embedding/table_rows.h"
#include "train/written_rows.h"

#include <sluice/models/state_model.h>
#include <sluice/nn/state_rows.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::testing {

struct Meeting {
  std::uint64_t from, to;
  std::int64_t time;
};

inline void check_near(const torch::Tensor& got, const torch::Tensor& expected) {
  REQUIRE(got.sizes() == expected.sizes());
  CHECK((got - expected).abs().max().item<float>() < 1e-5f);
}

/// Rows of state in memory, at the begin of an epoch.
inline std::unique_ptr<nn::StateRows> empty_state(nn::StateShape shape, const GraphSchema& schema) {
  std::vector<nn::StateRows::Table> tables;
  for (const NodeTypeSchema& type : schema.nodes) {
    TableRowsOptions options;
    options.rows = type.count;
    options.dim = static_cast<std::uint32_t>(shape.columns());
    options.optimizer = std::make_shared<WrittenRows>();
    tables.push_back({type.name, std::make_shared<TableRows>(options)});
  }
  auto state = std::make_unique<nn::StateRows>(std::move(tables), shape, torch::kCPU);
  state->go_to(1);
  return state;
}

/// The same for a model, which has them then.
inline std::unique_ptr<nn::StateRows> state_for(StatefulModel& model, const GraphSchema& schema) {
  auto state = empty_state(model.state_shape(), schema);
  model.attach_state(*state);
  return state;
}

/// Events [first, last) of one node type as links with times, whose ends are the seeds, a row each
/// node and time. With one layer of blocks: each seed's latest `count` events of before its time.
inline Batch batch_of_meetings(const std::vector<Meeting>& all,
                               std::size_t first,
                               std::size_t last,
                               std::size_t count) {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times;
  const auto row_of = [&](std::uint64_t node, std::int64_t time) {
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (ids[row] == node && times[row] == time) return static_cast<std::int64_t>(row);
    ids.push_back(node);
    times.push_back(time);
    return static_cast<std::int64_t>(ids.size() - 1);
  };
  std::vector<std::int64_t> sources, destinations, when;
  std::vector<std::uint64_t> events;
  for (std::size_t e = first; e < last; ++e) {
    sources.push_back(row_of(all[e].from, all[e].time));
    destinations.push_back(row_of(all[e].to, all[e].time));
    when.push_back(all[e].time);
    events.push_back(e);
  }
  Batch batch;
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.sources = array_of(sources);
  batch.queries.destinations = array_of(destinations);
  batch.queries.times = array_of(when);
  batch.queries.ids = array_of(events);
  const std::size_t seeds = ids.size();
  batch.seeds = {array_of(ids)};
  std::vector<std::vector<std::int32_t>> met(seeds);
  std::vector<std::int64_t> deltas;
  for (std::size_t row = 0; row < seeds; ++row) {
    std::vector<std::size_t> seen;
    for (std::size_t e = 0; e < all.size(); ++e) {
      const bool own = all[e].from == ids[row] || all[e].to == ids[row];
      if (own && all[e].time < times[row]) seen.push_back(e);
    }
    if (seen.size() > count) seen.erase(seen.begin(), seen.end() - static_cast<long>(count));
    for (const std::size_t e : seen) {
      const std::uint64_t other = all[e].from == ids[row] ? all[e].to : all[e].from;
      deltas.push_back(times[row] - all[e].time);
      met[row].push_back(static_cast<std::int32_t>(row_of(other, all[e].time)));
    }
  }
  Block block = make_block(static_cast<std::int64_t>(ids.size()), met);
  block.deltas = array_of(deltas);
  batch.layers = {{std::move(block)}};
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of(ids);
  batch.nodes[0].times = array_of(times);
  batch.nodes[0].size_at = {static_cast<std::int64_t>(ids.size()),
                            static_cast<std::int64_t>(seeds)};
  return batch;
}

/// Nodes without features, events with times.
inline GraphSchema meeting_schema(std::uint64_t nodes) {
  GraphSchema schema = homogeneous_schema(nodes, 1, {LabelKind::kClass, 2});
  schema.nodes[0].features.clear();
  schema.relations[0].has_times = true;
  return schema;
}

inline std::shared_ptr<Model> model_of(const std::string& toml, const GraphSchema& schema) {
  const RunOptions options(toml + "optimizer.type = 'sgd'\n");
  return builtin_models().create(options.model, {schema, {0}, 5, RandomKey(1), nullptr});
}

/// With repeated nodes and ties.
inline std::vector<Meeting> some_meetings(std::uint64_t nodes, std::size_t count) {
  const RandomKey key(5);
  std::vector<Meeting> all;
  std::int64_t now = 1'000'000'000'000;
  for (std::uint64_t e = 0; e < count; ++e) {
    now += static_cast<std::int64_t>(key.with(e).below(3, 0));
    all.push_back({key.with(e).below(nodes, 1), key.with(e).below(nodes, 2), now});
  }
  return all;
}

}  // namespace sluice::testing
