#include "samplers/query_seeds.h"

#include "samplers/timed_node_table.h"

#include <sluice/no_node.h>
#include <sluice/samplers/node_table.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {
namespace {

template <class T>
Result<void> copy_seeds(std::span<const T> from, Array& to, MemoryLedger* ledger) {
  auto made = Array::make(dtype_of<T>, {static_cast<std::int64_t>(from.size())}, ledger, "batches");
  if (!made) return std::move(made).error();
  std::ranges::copy(from, made.value().template as<T>().begin());
  to = std::move(made).value();
  return {};
}

// Gives each node that is there a row of its type's table. @param insert(table, i, node)
template <class Table, class Insert>
Result<void> number_nodes(std::span<const NamedNodes> named,
                          std::vector<Table>& tables,
                          MemoryLedger* ledger,
                          const Insert& insert) {
  for (const NamedNodes& each : named) {
    if (each.nodes.shape().empty()) continue;
    auto made = Array::make(DType::kI64, each.nodes.shape(), ledger, "batches");
    if (!made) return std::move(made).error();
    each.rows = std::move(made).value();
    const auto all = each.nodes.as<std::uint64_t>();
    const auto rows = each.rows.as<std::int64_t>();
    Table& table = tables.at(each.type);
    if (auto room = table.reserve(all.size(), ledger); !room) return room;
    for (std::size_t i = 0; i < all.size(); ++i)
      rows[i] = all[i] == kNoNode ? -1 : std::int64_t{insert(table, i, all)};
  }
  return {};
}

}  // namespace

Result<void> list_seeds(std::span<const NamedNodes> named,
                        QueryBatch& batch,
                        MemoryLedger* ledger) {
  std::vector<NodeTable> tables(batch.seeds.size());
  auto numbered =
      number_nodes(named,
                   tables,
                   ledger,
                   [](NodeTable& table, std::size_t i, std::span<const std::uint64_t> all) {
                     return table.insert(all[i]);
                   });
  if (!numbered) return numbered;
  for (std::size_t type = 0; type < tables.size(); ++type) {
    const std::span<const std::uint64_t> nodes = tables[type].ids();
    if (nodes.empty()) continue;
    if (auto done = copy_seeds(nodes, batch.seeds[type], ledger); !done) return done;
  }
  return {};
}

Result<void> list_timed_seeds(std::span<const NamedNodes> named,
                              SeedEvents events,
                              QueryBatch& batch,
                              MemoryLedger* ledger) {
  const auto times = std::as_const(batch.queries.times).as<std::int64_t>();
  const bool own = events == SeedEvents::kOwn;
  const auto ids =
      own ? std::as_const(batch.queries.ids).as<std::uint64_t>() : std::span<const std::uint64_t>();
  std::vector<TimedNodeTable> tables(batch.seeds.size());
  auto numbered =
      number_nodes(named,
                   tables,
                   ledger,
                   [&](TimedNodeTable& table, std::size_t i, std::span<const std::uint64_t> all) {
                     const std::size_t query = i / (all.size() / times.size());
                     return table.insert({all[i], times[query], own ? ids[query] : 0});
                   });
  if (!numbered) return numbered;
  batch.seed_times.resize(tables.size());
  batch.seed_events.resize(own ? tables.size() : 0);
  for (std::size_t type = 0; type < tables.size(); ++type) {
    const TimedNodeTable& table = tables[type];
    if (table.size() == 0) continue;
    if (auto done = copy_seeds(table.nodes(), batch.seeds[type], ledger); !done) return done;
    if (auto done = copy_seeds(table.times(), batch.seed_times[type], ledger); !done) return done;
    if (!own) continue;
    if (auto done = copy_seeds(table.events(), batch.seed_events[type], ledger); !done) return done;
  }
  return {};
}

}  // namespace sluice
