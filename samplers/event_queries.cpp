#include "samplers/event_queries.h"

#include "core/type_index.h"
#include "samplers/timed_node_table.h"

#include <sluice/no_node.h>
#include <sluice/samplers/node_table.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace sluice {

// A mini-batch that is being made: its events by their nodes' ids.
struct EventQueries::Making {
  MemoryLedger* ledger;
  QueryBatch batch;
  Array numbers = {};                // u64 [q]
  Array sources = {}, targets = {};  // u64 [q]
  Array negatives = {};              // u64 [q, k]

  Result<void> make(Array& array, Array::Shape shape, DType dtype = DType::kU64) const {
    auto made = Array::make(dtype, std::move(shape), ledger, "batches");
    if (!made) return std::move(made).error();
    array = std::move(made).value();
    return {};
  }

  /// Calls number(nodes, type, rows) for each array of nodes and the one of its rows.
  template <class Number>
  Result<void> for_each_end(std::size_t source_type,
                            std::size_t destination_type,
                            const Number& number) {
    Queries& queries = batch.queries;
    if (auto done = number(sources, source_type, queries.sources); !done) return done;
    if (auto done = number(targets, destination_type, queries.destinations); !done) return done;
    if (negatives.shape().empty()) return {};
    return number(negatives, destination_type, queries.negatives);
  }
};

EventQueries::EventQueries(const GraphSchema& schema,
                           std::shared_ptr<const Links> links,
                           EventQueryOptions options)
    : links_(std::move(links)),
      options_(std::move(options)),
      num_types_(schema.nodes.size()),
      source_type_(type_index(schema, schema.relations.at(options_.relation).source)),
      destination_type_(type_index(schema, schema.relations.at(options_.relation).target)) {
  if (!links_->have_times() || !links_->have_ids())
    throw Error(ErrorCode::kUsage,
                "these links are no events: they have no times, or no edge ids",
                "ask about the events of a relation with times");
  if (options_.batch_size < 1)
    throw Error(ErrorCode::kUsage, "a mini-batch of no events", "set the batch size to 1 or more");
}

std::uint64_t EventQueries::num_batches() const {
  if (options_.replayed) return options_.replayed->batches;
  const auto size = static_cast<std::uint64_t>(options_.batch_size);
  return (links_->size() + size - 1) / size;
}

std::uint64_t EventQueries::num_queries() const {
  return options_.replayed ? options_.replayed->batches * size_of(0) : links_->size();
}

std::uint64_t EventQueries::size_of(std::uint64_t index) const {
  if (options_.replayed) return options_.replayed->in_batch(options_.batch_size);
  const auto size = static_cast<std::uint64_t>(options_.batch_size);
  return std::min(size, links_->size() - index * size);
}

void EventQueries::choose_events(std::uint64_t epoch,
                                 std::uint64_t index,
                                 std::span<std::uint64_t> numbers) const {
  if (options_.replayed) return options_.replayed->buffer->draw(epoch, index, numbers);
  std::iota(
      numbers.begin(), numbers.end(), index * static_cast<std::uint64_t>(options_.batch_size));
}

Result<QueryBatch> EventQueries::batch(std::uint64_t epoch,
                                       std::uint64_t index,
                                       MemoryLedger* ledger) const {
  Making making{ledger, {epoch, index, index, std::vector<Array>(num_types_), {}}};
  Queries& queries = making.batch.queries;
  queries.kind = QueryKind::kLinks;
  queries.relation = options_.relation;
  queries.type = source_type_;
  queries.destination_type = destination_type_;
  if (auto found = find_events(making); !found) return std::move(found).error();
  if (auto drawn = draw_negatives(making); !drawn) return std::move(drawn).error();
  auto listed =
      options_.seeds == EventSeeds::kNodes ? list_nodes(making) : list_timed_nodes(making);
  if (!listed) return std::move(listed).error();
  return std::move(making.batch);
}

Result<void> EventQueries::find_events(Making& making) const {
  const std::uint64_t count = size_of(making.batch.index);
  const Array::Shape shape{static_cast<std::int64_t>(count)};
  Queries& queries = making.batch.queries;
  for (Array* array : {&making.numbers, &making.sources, &making.targets, &queries.ids}) {
    if (auto made = making.make(*array, shape); !made) return made;
  }
  if (auto made = making.make(queries.times, shape, DType::kI64); !made) return made;
  const auto numbers = making.numbers.as<std::uint64_t>();
  choose_events(making.batch.epoch, making.batch.index, numbers);
  auto found = links_->find(numbers,
                            {making.sources.as<std::uint64_t>(),
                             making.targets.as<std::uint64_t>(),
                             queries.ids.as<std::uint64_t>(),
                             {},
                             queries.times.as<std::int64_t>()});
  if (!found || count == 0) return found;
  // They are in order: nothing comes before the first.
  making.batch.cut = TemporalCut{std::as_const(queries.times).as<std::int64_t>()[0],
                                 std::as_const(queries.ids).as<std::uint64_t>()[0]};
  return {};
}

Result<void> EventQueries::draw_negatives(Making& making) const {
  if (!options_.negatives || options_.negatives->count() == 0) return {};
  const Array::Shape shape{making.sources.numel(),
                           static_cast<std::int64_t>(options_.negatives->count())};
  if (auto made = making.make(making.negatives, shape); !made) return made;
  const Queries& queries = making.batch.queries;
  return options_.negatives->draw(making.batch.epoch,
                                  {std::as_const(making.numbers).as<std::uint64_t>(),
                                   std::as_const(making.sources).as<std::uint64_t>(),
                                   std::as_const(making.targets).as<std::uint64_t>(),
                                   queries.times.as<std::int64_t>(),
                                   queries.ids.as<std::uint64_t>()},
                                  making.negatives.as<std::uint64_t>());
}

Result<void> EventQueries::list_nodes(Making& making) const {
  std::vector<NodeTable> tables(num_types_);
  auto numbered = making.for_each_end(
      source_type_,
      destination_type_,
      [&](const Array& nodes, std::size_t type, Array& rows) -> Result<void> {
        if (auto made = making.make(rows, nodes.shape(), DType::kI64); !made) return made;
        NodeTable& table = tables[type];
        const auto all = nodes.as<std::uint64_t>();
        if (auto room = table.reserve(all.size(), making.ledger); !room) return room;
        std::ranges::transform(all, rows.as<std::int64_t>().begin(), [&](std::uint64_t node) {
          return node == kNoNode ? std::int64_t{-1} : std::int64_t{table.insert(node)};
        });
        return {};
      });
  if (!numbered) return numbered;
  for (std::size_t type = 0; type < num_types_; ++type) {
    const auto nodes = tables[type].ids();
    if (nodes.empty()) continue;
    Array& seeds = making.batch.seeds[type];
    if (auto made = making.make(seeds, {static_cast<std::int64_t>(nodes.size())}); !made)
      return made;
    std::ranges::copy(nodes, seeds.as<std::uint64_t>().begin());
  }
  return {};
}

Result<void> EventQueries::list_timed_nodes(Making& making) const {
  const bool of_events = options_.seeds == EventSeeds::kEvents;
  const auto times = std::as_const(making.batch.queries.times).as<std::int64_t>();
  const auto events = std::as_const(making.batch.queries.ids).as<std::uint64_t>();
  std::vector<TimedNodeTable> tables(num_types_);
  auto numbered = making.for_each_end(
      source_type_,
      destination_type_,
      [&](const Array& nodes, std::size_t type, Array& rows) -> Result<void> {
        if (auto made = making.make(rows, nodes.shape(), DType::kI64); !made) return made;
        TimedNodeTable& table = tables[type];
        const auto all = nodes.as<std::uint64_t>();
        if (auto room = table.reserve(all.size(), making.ledger); !room) return room;
        const std::size_t an_event = times.empty() ? 1 : all.size() / times.size();
        for (std::size_t i = 0; i < all.size(); ++i) {
          const std::size_t event = i / an_event;
          rows.as<std::int64_t>()[i] =
              all[i] == kNoNode
                  ? -1
                  : table.insert({all[i], times[event], of_events ? events[event] : 0});
        }
        return {};
      });
  if (!numbered) return numbered;
  QueryBatch& batch = making.batch;
  batch.seed_times.resize(num_types_);
  batch.seed_events.resize(of_events ? num_types_ : 0);
  for (std::size_t type = 0; type < num_types_; ++type) {
    const TimedNodeTable& table = tables[type];
    if (table.size() == 0) continue;
    const Array::Shape shape{static_cast<std::int64_t>(table.size())};
    if (auto made = making.make(batch.seeds[type], shape); !made) return made;
    std::ranges::copy(table.nodes(), batch.seeds[type].as<std::uint64_t>().begin());
    if (auto made = making.make(batch.seed_times[type], shape, DType::kI64); !made) return made;
    std::ranges::copy(table.times(), batch.seed_times[type].as<std::int64_t>().begin());
    if (!of_events) continue;
    if (auto made = making.make(batch.seed_events[type], shape); !made) return made;
    std::ranges::copy(table.events(), batch.seed_events[type].as<std::uint64_t>().begin());
  }
  return {};
}

}  // namespace sluice
