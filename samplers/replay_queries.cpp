#include "samplers/replay_queries.h"

#include <algorithm>
#include <span>
#include <utility>

namespace sluice {
namespace {

Result<void> make_array(Array& array, DType dtype, std::size_t count, MemoryLedger* ledger) {
  auto made = Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, "batches");
  if (!made) return std::move(made).error();
  array = std::move(made).value();
  return {};
}

}  // namespace

std::uint64_t ReplayedQueries::in_batch(std::int64_t batch_size) const {
  return std::min(static_cast<std::uint64_t>(batch_size),
                  static_cast<std::uint64_t>(buffer->queries().size()));
}

ReplayMix::ReplayMix(std::unique_ptr<QuerySource> old, std::unique_ptr<QuerySource> fresh)
    : old_(std::move(old)), fresh_(std::move(fresh)) {}

Result<QueryBatch> ReplayMix::batch(std::uint64_t epoch,
                                    std::uint64_t index,
                                    MemoryLedger* ledger) const {
  auto made = (is_old(index) ? *old_ : *fresh_).batch(epoch, index / 2, ledger);
  if (!made) return made;
  made.value().index = index;
  made.value().round = index;
  return made;
}

ReplayNodeQueries::ReplayNodeQueries(const GraphSchema& schema,
                                     ReplayNodeOptions options,
                                     ReplayedQueries replayed)
    : options_(std::move(options)),
      replayed_(std::move(replayed)),
      num_types_(schema.nodes.size()) {}

// Drawn in ascending order, so repeats stand beside each other.
Result<QueryBatch> ReplayNodeQueries::batch(std::uint64_t epoch,
                                            std::uint64_t index,
                                            MemoryLedger* ledger) const {
  const auto count = static_cast<std::size_t>(replayed_.in_batch(options_.batch_size));
  QueryBatch batch{epoch, index, index, std::vector<Array>(num_types_), {}};
  Queries& queries = batch.queries;
  queries.type = options_.type;
  if (auto made = make_array(queries.ids, DType::kU64, count, ledger); !made)
    return std::move(made).error();
  if (auto made = make_array(queries.nodes, DType::kI64, count, ledger); !made)
    return std::move(made).error();
  const auto ids = queries.ids.as<std::uint64_t>();
  const auto rows = queries.nodes.as<std::int64_t>();
  replayed_.buffer->draw(epoch, index, ids);
  std::int64_t seeds = 0;
  for (std::size_t i = 0; i < count; ++i) {
    seeds += i == 0 || ids[i] != ids[i - 1] ? 1 : 0;
    rows[i] = seeds - 1;
  }
  const auto all = std::as_const(options_.nodes).as<std::uint64_t>();
  std::ranges::transform(ids, ids.begin(), [&](std::uint64_t number) { return all[number]; });
  Array& own = batch.seeds[options_.type];
  if (auto made = make_array(own, DType::kU64, static_cast<std::size_t>(seeds), ledger); !made)
    return std::move(made).error();
  const auto nodes = own.as<std::uint64_t>();
  for (std::size_t i = 0; i < count; ++i) nodes[static_cast<std::size_t>(rows[i])] = ids[i];
  if (auto timed = add_times(batch, ledger); !timed) return std::move(timed).error();
  return batch;
}

Result<void> ReplayNodeQueries::add_times(QueryBatch& batch, MemoryLedger* ledger) const {
  if (options_.times.shape().empty()) return {};
  const auto all = options_.times.as<std::int64_t>();
  const auto time_of = [&](std::uint64_t node) { return all[node]; };
  const auto asked = std::as_const(batch.queries.ids).as<std::uint64_t>();
  const auto seeds = std::as_const(batch.seeds[options_.type]).as<std::uint64_t>();
  batch.seed_times.resize(num_types_);
  Array& own = batch.seed_times[options_.type];
  if (auto made = make_array(batch.queries.times, DType::kI64, asked.size(), ledger); !made)
    return made;
  if (auto made = make_array(own, DType::kI64, seeds.size(), ledger); !made) return made;
  const auto times = batch.queries.times.as<std::int64_t>();
  std::ranges::transform(asked, times.begin(), time_of);
  std::ranges::transform(seeds, own.as<std::int64_t>().begin(), time_of);
  if (!times.empty()) batch.cut = TemporalCut{std::ranges::min(times), 0};
  return {};
}

}  // namespace sluice
