#include "samplers/graph_queries.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

std::uint64_t checked_batch_size(const GraphQueryOptions& options) {
  const auto all = static_cast<std::uint64_t>(options.offsets.numel()) - 1;
  for (const std::uint64_t graph : options.graphs.as<std::uint64_t>()) {
    if (graph < all) continue;
    throw Error(ErrorCode::kData,
                fmt::format("there is no graph {}: the dataset has {}", graph, format_count(all)));
  }
  if (options.batch_size >= 1) return static_cast<std::uint64_t>(options.batch_size);
  throw Error(ErrorCode::kUsage, "a mini-batch of no graphs", "set the batch size to 1 or more");
}

}  // namespace

GraphQueries::GraphQueries(GraphQueryOptions options, std::size_t num_types)
    : options_(std::move(options)),
      num_types_(num_types),
      order_(options_.graphs.as<std::uint64_t>(),
             checked_batch_size(options_),
             options_.shuffle,
             options_.key) {}

Result<QueryBatch> GraphQueries::batch(std::uint64_t epoch,
                                       std::uint64_t index,
                                       MemoryLedger* ledger) const {
  const std::vector<std::uint64_t> graphs = order_.batch(epoch, index);
  const auto count = static_cast<std::int64_t>(graphs.size());
  auto ids = Array::make(DType::kU64, {count}, ledger, "batches");
  if (!ids) return std::move(ids).error();
  auto starts = Array::make(DType::kI64, {count + 1}, ledger, "batches");
  if (!starts) return std::move(starts).error();
  std::ranges::copy(graphs, ids.value().as<std::uint64_t>().begin());
  const auto offsets = starts.value().as<std::int64_t>();
  offsets[0] = 0;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const auto [first, last] = nodes_of(graphs[i]);
    offsets[i + 1] = offsets[i] + static_cast<std::int64_t>(last - first);
  }
  auto seeds = Array::make(DType::kU64, {offsets[graphs.size()]}, ledger, "batches");
  if (!seeds) return std::move(seeds).error();
  auto rows = Array::make(DType::kI64, {offsets[graphs.size()]}, ledger, "batches");
  if (!rows) return std::move(rows).error();
  const auto nodes = seeds.value().as<std::uint64_t>();
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const auto own = nodes.subspan(static_cast<std::size_t>(offsets[i]),
                                   static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
    std::iota(own.begin(), own.end(), nodes_of(graphs[i]).first);
  }
  const auto numbers = rows.value().as<std::int64_t>();
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  QueryBatch made{epoch, index, index, std::vector<Array>(num_types_), {}};
  made.queries.kind = QueryKind::kGraphs;
  made.queries.type = options_.type;
  made.queries.ids = std::move(ids).value();
  made.queries.offsets = std::move(starts).value();
  made.queries.nodes = std::move(rows).value();
  made.seeds[options_.type] = std::move(seeds).value();
  return made;
}

}  // namespace sluice
