#include "repeated_nodes.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace sluice;

Result<QueryBatch> RepeatedNodes::batch(std::uint64_t epoch,
                                        std::uint64_t index,
                                        MemoryLedger* ledger) const {
  const auto all = nodes_.as<std::uint64_t>();
  const std::uint64_t count = std::min(batch_size_, num_queries() - index * batch_size_);
  const RandomKey key = key_.with("repeated nodes").with(epoch).with(index);
  const Array::Shape shape{static_cast<std::int64_t>(count)};
  auto ids = Array::make(DType::kU64, shape, ledger, "batches");
  if (!ids) return std::move(ids).error();
  auto rows = Array::make(DType::kI64, shape, ledger, "batches");
  if (!rows) return std::move(rows).error();
  std::map<std::uint64_t, std::int64_t> row_of;
  std::vector<std::uint64_t> distinct;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t node = all[key.below(all.size(), i)];
    const auto [at, fresh] = row_of.try_emplace(node, static_cast<std::int64_t>(distinct.size()));
    if (fresh) distinct.push_back(node);
    ids.value().as<std::uint64_t>()[i] = node;
    rows.value().as<std::int64_t>()[i] = at->second;
  }
  auto seeds =
      Array::make(DType::kU64, {static_cast<std::int64_t>(distinct.size())}, ledger, "batches");
  if (!seeds) return std::move(seeds).error();
  std::ranges::copy(distinct, seeds.value().as<std::uint64_t>().begin());
  QueryBatch made{epoch, index, index, {std::move(seeds).value()}, {}};
  made.queries.ids = std::move(ids).value();
  made.queries.nodes = std::move(rows).value();
  return made;
}
