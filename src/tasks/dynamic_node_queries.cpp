#include "tasks/dynamic_node_queries.h"

#include <sluice/samplers/node_table.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace sluice::tasks {

LabelQueries::LabelQueries(std::shared_ptr<const NodeLabels> labels,
                           const LabelQueryOptions& options)
    : labels_(std::move(labels)), options_(options) {
  if (options.batch_size < 1)
    throw Error(ErrorCode::kUsage, "a mini-batch of no labels", "set the batch size to 1 or more");
}

std::uint64_t LabelQueries::num_batches() const {
  const auto size = static_cast<std::uint64_t>(options_.batch_size);
  return (num_queries() + size - 1) / size;
}

Result<QueryBatch> LabelQueries::batch(std::uint64_t epoch,
                                       std::uint64_t index,
                                       MemoryLedger* ledger) const {
  const auto size = static_cast<std::uint64_t>(options_.batch_size);
  const std::uint64_t first = options_.first + index * size;
  const std::uint64_t count = std::min(size, options_.last - first);
  const Array::Shape shape{static_cast<std::int64_t>(count)};
  QueryBatch made{epoch, index, index, std::vector<Array>(options_.num_types), {}};
  Queries& queries = made.queries;
  queries.type = options_.node_type;
  for (const auto& [array, dtype] : {std::pair(&queries.ids, DType::kU64),
                                     std::pair(&queries.times, DType::kI64),
                                     std::pair(&queries.nodes, DType::kI64)}) {
    auto room = Array::make(dtype, shape, ledger, "batches");
    if (!room) return std::move(room).error();
    *array = std::move(room).value();
  }
  for (std::size_t i = 0; i < count; ++i) {
    queries.ids.as<std::uint64_t>()[i] = labels_->node(first + i);
    queries.times.as<std::int64_t>()[i] = labels_->time(first + i);
  }
  if (options_.seeds == LabelSeeds::kTimes) {
    list_timed_nodes(made);
    return made;
  }
  if (auto listed = list_nodes(made, ledger); !listed) return std::move(listed).error();
  return made;
}

Result<void> LabelQueries::list_nodes(QueryBatch& batch, MemoryLedger* ledger) const {
  Queries& queries = batch.queries;
  const auto nodes = std::as_const(queries.ids).as<std::uint64_t>();
  NodeTable table;
  if (auto room = table.reserve(nodes.size(), ledger); !room) return room;
  std::ranges::transform(nodes, queries.nodes.as<std::int64_t>().begin(), [&](std::uint64_t node) {
    return std::int64_t{table.insert(node)};
  });
  const auto distinct = table.ids();
  auto seeds =
      Array::make(DType::kU64, {static_cast<std::int64_t>(distinct.size())}, ledger, "batches");
  if (!seeds) return std::move(seeds).error();
  std::ranges::copy(distinct, seeds.value().as<std::uint64_t>().begin());
  batch.seeds[options_.node_type] = std::move(seeds).value();
  return {};
}

// A node has one vector at a time, so queries are distinct as they are.
void LabelQueries::list_timed_nodes(QueryBatch& batch) const {
  Queries& queries = batch.queries;
  const auto rows = queries.nodes.as<std::int64_t>();
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  batch.seeds[options_.node_type] = queries.ids;
  batch.seed_times.resize(options_.num_types);
  batch.seed_times[options_.node_type] = queries.times;
  const auto times = std::as_const(queries.times).as<std::int64_t>();
  if (!times.empty()) batch.cut = TemporalCut{times[0], 0};
}

}  // namespace sluice::tasks
