#include <sluice/samplers/node_queries.h>

#include <sluice/samplers/seed_order.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

NodeQueryOptions checked(const GraphSchema& schema, NodeQueryOptions options) {
  if (options.type >= schema.nodes.size())
    throw Error(ErrorCode::kUsage,
                fmt::format("nodes of type {} are asked about, and GraphSchema::nodes has {}",
                            options.type,
                            schema.nodes.size()),
                "types are numbered from 0");
  if (!options.nodes.empty() && options.nodes.dtype() != DType::kU64)
    throw Error(ErrorCode::kUsage,
                fmt::format("seeds are {}, not u64", to_string(options.nodes.dtype())),
                "give the array the dtype of Split::train");
  if (options.batch_size < 1)
    throw Error(ErrorCode::kUsage,
                fmt::format("a batch size of {} gives no batches", options.batch_size),
                "set it to 1 or more");
  const NodeTypeSchema& type = schema.nodes[options.type];
  const bool timed = !options.times.shape().empty();
  if (timed && static_cast<std::uint64_t>(options.times.numel()) < type.count)
    throw Error(ErrorCode::kUsage,
                fmt::format("of the {} nodes of '{}', times of {} are given",
                            type.count,
                            type.name,
                            options.times.numel()),
                "give the time of each node");
  return options;
}

std::unique_ptr<BatchOrder> make_order(const GraphSchema& schema,
                                       const NodeQueryOptions& options,
                                       MemoryLedger* ledger) {
  std::span<const std::uint64_t> ids;
  if (!options.nodes.empty()) ids = options.nodes.as<std::uint64_t>();
  if (options.sampler) {
    auto own = options.sampler->make_order(
        {schema, options.type, ids, options.shuffle, options.key, ledger});
    if (own) return own;
  }
  return std::make_unique<SeedOrder>(ids,
                                     static_cast<std::uint64_t>(options.batch_size),
                                     options.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff,
                                     options.key);
}

}  // namespace

NodeQueries::NodeQueries(const GraphSchema& schema, NodeQueryOptions options, MemoryLedger* ledger)
    : options_(checked(schema, std::move(options))),
      num_types_(schema.nodes.size()),
      order_(make_order(schema, options_, ledger)) {}

Result<QueryBatch> NodeQueries::batch(std::uint64_t epoch,
                                      std::uint64_t index,
                                      MemoryLedger* ledger) const {
  const std::vector<std::uint64_t> nodes = order_->batch(epoch, index);
  const Array::Shape shape{static_cast<std::int64_t>(nodes.size())};
  auto ids = Array::make(DType::kU64, shape, ledger, "batches");
  if (!ids) return std::move(ids).error();
  auto rows = Array::make(DType::kI64, shape, ledger, "batches");
  if (!rows) return std::move(rows).error();
  std::ranges::copy(nodes, ids.value().as<std::uint64_t>().begin());
  const auto numbers = rows.value().as<std::int64_t>();
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  QueryBatch made{epoch, index, index, std::vector<Array>(num_types_), {}};
  made.queries.type = options_.type;
  made.queries.ids = ids.value();
  made.queries.nodes = std::move(rows).value();
  made.seeds[options_.type] = std::move(ids).value();
  if (auto timed = add_times(made, ledger); !timed) return std::move(timed).error();
  return made;
}

Result<void> NodeQueries::add_times(QueryBatch& batch, MemoryLedger* ledger) const {
  if (options_.times.shape().empty()) return {};
  const auto nodes = std::as_const(batch.queries.ids).as<std::uint64_t>();
  const auto all = options_.times.as<std::int64_t>();
  auto times = Array::make(DType::kI64, batch.queries.ids.shape(), ledger, "batches");
  if (!times) return std::move(times).error();
  const auto out = times.value().as<std::int64_t>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] >= all.size())
      return Error(
          ErrorCode::kData,
          fmt::format("node {} is asked about, and there are {} nodes", nodes[i], all.size()));
    out[i] = all[nodes[i]];
  }
  if (!out.empty()) batch.cut = TemporalCut{std::ranges::min(out), 0};
  batch.seed_times.resize(num_types_);
  batch.seed_times[options_.type] = times.value();
  batch.queries.times = std::move(times).value();
  return {};
}

}  // namespace sluice
