#include <sluice/samplers/link_queries.h>

#include "core/type_index.h"
#include "samplers/query_seeds.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

namespace sluice {

// A mini-batch that is being made: its links by their nodes' ids.
struct LinkQueries::Making {
  MemoryLedger* ledger;
  QueryBatch batch;
  OtherNodes others = {};
  Array numbers = {};                      // u64 [q], in the links, where ends are listed
  Array sources = {}, targets = {};        // u64 [q]
  Array negatives = {};                    // u64 [q, k]
  Array shared = {}, shared_sources = {};  // u64 [chunks, k]

  // u64 [q].
  Result<Array> column(std::int64_t count, DType dtype = DType::kU64) const {
    return Array::make(dtype, {count}, ledger, "batches");
  }
};

namespace {

void check_relation(const GraphSchema& schema, std::size_t relation) {
  if (relation < schema.relations.size()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("links of relation {} are asked about, and GraphSchema::relations has {}",
                          relation,
                          schema.relations.size()),
              "relations are numbered from 0");
}

std::shared_ptr<const Links> checked_links(const GraphSchema& schema,
                                           std::shared_ptr<const Links> links,
                                           const LinkQueryOptions& options) {
  check_relation(schema, options.relation);
  if (options.reverse) check_relation(schema, *options.reverse);
  if (links) return links;
  throw Error(ErrorCode::kUsage,
              "there are no links to ask about: they are null",
              "RelationLinks has those of a relation");
}

}  // namespace

LinkQueries::LinkQueries(const GraphSchema& schema,
                         std::shared_ptr<const Links> links,
                         LinkQueryOptions options)
    : links_(checked_links(schema, std::move(links), options)),
      options_(std::move(options)),
      num_types_(schema.nodes.size()),
      num_sources_(0),
      num_destinations_(0),
      source_type_(type_index(schema, schema.relations.at(options_.relation).source)),
      destination_type_(type_index(schema, schema.relations.at(options_.relation).target)) {
  num_sources_ = schema.nodes.at(source_type_).count;
  num_destinations_ = schema.nodes.at(destination_type_).count;
  if (!options_.order)
    options_.order = std::make_shared<WholeLinkOrder>(
        links_->size(), options_.batch_size, options_.shuffle, options_.key.with("links"));
  if (options_.events && !(links_->have_times() && links_->have_ids()))
    throw Error(ErrorCode::kUsage,
                "these links are no events: they have no times, or no edge ids",
                "choose a sampler that takes what was before a time, whatever the event");
  const bool drawn = options_.listed_destinations && options_.negatives;
  const bool shares =
      options_.listed_sources && (links_->have_times() || options_.shared.count != 0);
  if (drawn || shares)
    throw Error(ErrorCode::kUsage,
                "ends beside links are listed, and drawn or asked about at times",
                "leave one of both out");
}

std::uint64_t LinkQueries::num_batches() const {
  return options_.order->num_batches();
}

Result<QueryBatch> LinkQueries::batch(std::uint64_t epoch,
                                      std::uint64_t index,
                                      MemoryLedger* ledger) const {
  Making making{ledger,
                {epoch, index, index, std::vector<Array>(num_types_), {}},
                options_.order->others(epoch, index)};
  Queries& queries = making.batch.queries;
  queries.kind = QueryKind::kLinks;
  queries.relation = options_.relation;
  queries.type = source_type_;
  queries.destination_type = destination_type_;
  if (auto found = find_links(making); !found) return std::move(found).error();
  if (auto drawn = draw_negatives(making); !drawn) return std::move(drawn).error();
  if (auto drawn = draw_shared(making); !drawn) return std::move(drawn).error();
  if (auto read = read_listed(making); !read) return std::move(read).error();
  if (auto listed = list_ends(making); !listed) return std::move(listed).error();
  if (auto listed = list_excluded(making); !listed) return std::move(listed).error();
  return std::move(making.batch);
}

Result<void> LinkQueries::find_links(Making& making) const {
  const std::uint64_t epoch = making.batch.epoch, index = making.batch.index;
  const auto count = static_cast<std::int64_t>(options_.order->size(epoch, index));
  auto numbers = making.column(count);
  if (!numbers) return std::move(numbers).error();
  const auto places = numbers.value().as<std::uint64_t>();
  options_.order->numbers(epoch, index, places);

  Queries& queries = making.batch.queries;
  Links::Ends ends;
  for (auto [array, span] : {std::pair{&making.sources, &ends.sources},
                             std::pair{&making.targets, &ends.targets},
                             std::pair{&queries.ids, &ends.ids}}) {
    if (span == &ends.ids && !links_->have_ids()) continue;
    auto made = making.column(count);
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
    *span = array->as<std::uint64_t>();
  }
  if (links_->have_truth()) {
    auto truth = making.column(count, DType::kU8);
    if (!truth) return std::move(truth).error();
    queries.truth = std::move(truth).value();
    ends.truth = queries.truth.as<std::uint8_t>();
  }
  if (links_->have_times()) {
    auto times = making.column(count, DType::kI64);
    if (!times) return std::move(times).error();
    queries.times = std::move(times).value();
    ends.times = queries.times.as<std::int64_t>();
  }
  auto found = links_->find(places, ends);
  if (options_.listed_destinations || options_.listed_sources)
    making.numbers = std::move(numbers).value();
  return found;
}

Result<void> LinkQueries::draw_negatives(Making& making) const {
  if (!options_.negatives) return {};
  NegativeRequest request;
  request.epoch = making.batch.epoch;
  request.relation = options_.relation;
  request.sources = std::as_const(making.sources).as<std::uint64_t>();
  request.destinations = std::as_const(making.targets).as<std::uint64_t>();
  request.among = making.others.destinations;
  auto drawn = options_.negatives->sample(request, making.ledger);
  if (!drawn) return std::move(drawn).error();
  making.negatives = std::move(drawn.value().nodes);
  return {};
}

Result<void> LinkQueries::read_listed(Making& making) const {
  const auto read = [&](const ListedEnds& ends, Array& nodes) -> Result<void> {
    const Array::Shape shape{making.numbers.numel(), static_cast<std::int64_t>(ends.columns())};
    auto made = Array::make(DType::kU64, shape, making.ledger, "batches");
    if (!made) return std::move(made).error();
    nodes = std::move(made).value();
    return ends.read(std::as_const(making.numbers).as<std::uint64_t>(), nodes.as<std::uint64_t>());
  };
  if (options_.listed_destinations) {
    if (auto done = read(*options_.listed_destinations, making.negatives); !done) return done;
  }
  if (!options_.listed_sources) return {};
  making.batch.queries.chunk = 1;
  return read(*options_.listed_sources, making.shared_sources);
}

Result<void> LinkQueries::draw_shared(Making& making) const {
  if (options_.shared.count == 0 || links_->have_times()) return {};
  const std::int64_t count = making.sources.numel();
  const std::int64_t chunk = options_.shared.chunk == 0 ? count : options_.shared.chunk;
  making.batch.queries.chunk = chunk;
  auto drawn = draw_nodes(making, destination_type_, (count + chunk - 1) / chunk);
  if (!drawn) return std::move(drawn).error();
  making.shared = std::move(drawn).value();
  if (source_type_ == destination_type_) return {};
  drawn = draw_nodes(making, source_type_, (count + chunk - 1) / chunk);
  if (!drawn) return std::move(drawn).error();
  making.shared_sources = std::move(drawn).value();
  return {};
}

// Those of the batch first: an end of the type of any of its links.
Result<Array> LinkQueries::draw_nodes(const Making& making,
                                      std::size_t type,
                                      std::int64_t chunks) const {
  const std::int64_t count = options_.shared.count;
  auto made = Array::make(DType::kU64, {chunks, count}, making.ledger, "batches");
  if (!made) return made;
  const auto sources = making.sources.as<std::uint64_t>();
  const auto targets = making.targets.as<std::uint64_t>();
  const bool same_type = source_type_ == destination_type_;
  const auto of_batch =
      static_cast<std::int64_t>(options_.shared.of_batch * static_cast<double>(count));
  const bool of_destinations = type == destination_type_;
  const NodeRange all{0, of_destinations ? num_destinations_ : num_sources_};
  std::span<const NodeRange> among =
      of_destinations ? making.others.destinations : making.others.sources;
  if (among.empty()) among = {&all, 1};
  const std::uint64_t nodes = count_of(among);
  auto out = made.value().as<std::uint64_t>().begin();
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const RandomKey key = options_.key.with("shared")
                              .with(type)
                              .with(making.batch.epoch)
                              .with(making.batch.index)
                              .with(static_cast<std::uint64_t>(chunk));
    for (std::int64_t i = 0; i < count; ++i, ++out) {
      const auto counter = static_cast<std::uint64_t>(i);
      if (i >= of_batch) {
        *out = node_at(among, key.below(nodes, counter));
        continue;
      }
      const std::uint64_t ends = same_type ? 2 * sources.size() : sources.size();
      const std::uint64_t end = key.below(ends, counter);
      const bool target = same_type ? end >= sources.size() : of_destinations;
      *out = (target ? targets : sources)[end % sources.size()];
    }
  }
  return made;
}

Result<void> LinkQueries::list_ends(Making& making) const {
  QueryBatch& batch = making.batch;
  Queries& queries = batch.queries;
  const std::array<NamedNodes, 5> named{
      NamedNodes{making.sources, source_type_, queries.sources},
      NamedNodes{making.targets, destination_type_, queries.destinations},
      NamedNodes{making.negatives, destination_type_, queries.negatives},
      NamedNodes{making.shared, destination_type_, queries.shared},
      NamedNodes{making.shared_sources, source_type_, queries.shared_sources}};
  if (!links_->have_times()) return list_seeds(named, batch, making.ledger);
  const SeedEvents events = options_.events ? SeedEvents::kOwn : SeedEvents::kNone;
  // None are shared: these have no times.
  auto listed = list_timed_seeds(std::span(named).first(3), events, batch, making.ledger);
  if (!listed) return listed;
  const auto times = std::as_const(queries.times).as<std::int64_t>();
  const auto ids = std::as_const(queries.ids).as<std::uint64_t>();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const TemporalCut own{times[i], ids.empty() ? 0 : ids[i]};
    const bool first =
        !batch.cut || std::pair(own.time, own.event) < std::pair(batch.cut->time, batch.cut->event);
    if (first) batch.cut = own;
  }
  return {};
}

Result<void> LinkQueries::list_excluded(Making& making) const {
  if (!options_.exclude) return {};
  making.batch.excluded.push_back({options_.relation, making.sources, making.targets});
  if (options_.reverse)
    making.batch.excluded.push_back({*options_.reverse, making.targets, making.sources});
  return {};
}

}  // namespace sluice
