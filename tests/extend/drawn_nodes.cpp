#include "drawn_nodes.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace extend {

using sluice::Array;
using sluice::DType;

sluice::Result<sluice::QueryBatch> DrawnNodes::batch(std::uint64_t epoch,
                                                     std::uint64_t index,
                                                     sluice::MemoryLedger* ledger) const {
  const auto all = nodes_.as<std::uint64_t>();
  const std::uint64_t count = std::min(batch_size_, num_queries() - index * batch_size_);
  const sluice::RandomKey key = key_.with("drawn nodes").with(epoch).with(index);
  auto ids = Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "batches");
  if (!ids) return std::move(ids).error();
  auto rows = Array::make(DType::kI64, {static_cast<std::int64_t>(count)}, ledger, "batches");
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
  sluice::QueryBatch made{epoch, index, index, std::vector<Array>(num_types_), {}};
  made.seeds[type_] = std::move(seeds).value();
  made.queries.type = type_;
  made.queries.ids = std::move(ids).value();
  made.queries.nodes = std::move(rows).value();
  return made;
}

}  // namespace extend
