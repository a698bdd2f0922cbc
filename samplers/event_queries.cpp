#include "samplers/event_queries.h"

#include "core/type_index.h"
#include "samplers/query_seeds.h"

#include <algorithm>
#include <array>
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
  if (auto listed = list_ends(making); !listed) return std::move(listed).error();
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

Result<void> EventQueries::list_ends(Making& making) const {
  QueryBatch& batch = making.batch;
  Queries& queries = batch.queries;
  const std::array<NamedNodes, 3> named{
      NamedNodes{making.sources, source_type_, queries.sources},
      NamedNodes{making.targets, destination_type_, queries.destinations},
      NamedNodes{making.negatives, destination_type_, queries.negatives}};
  if (options_.seeds == EventSeeds::kNodes) return list_seeds(named, batch, making.ledger);
  const bool of_events = options_.seeds == EventSeeds::kEvents;
  return list_timed_seeds(
      named, of_events ? SeedEvents::kOwn : SeedEvents::kNone, batch, making.ledger);
}

}  // namespace sluice
