#include "feed/feed_queries.h"

#include "core/threads.h"
#include "core/type_index.h"
#include "samplers/event_links.h"
#include "samplers/graph_queries.h"

#include <sluice/samplers/link_queries.h>
#include <sluice/samplers/links.h>
#include <sluice/samplers/negative_sampler.h>
#include <sluice/samplers/node_queries.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice {

struct FeedSubject::Asked {
  const Dataset& dataset;
  const GraphData& data;
  const FeedOptions& options;
  const FeedLists& lists;
  std::shared_ptr<const SamplerMethod> sampler;
  MemoryLedger& ledger;

  RandomKey key() const { return RandomKey(options.seed); }
  Shuffle shuffle() const { return options.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff; }
  bool timed() const { return sampler && sampler->needs_times(); }
};

namespace {

Place at(const Dataset& dataset) {
  return Place{dataset.path(), -1, -1, -1};
}

std::vector<std::string> type_names(const GraphSchema& schema) {
  std::vector<std::string> names;
  names.reserve(schema.nodes.size());
  for (const NodeTypeSchema& type : schema.nodes) names.push_back(type.name);
  return names;
}

// The type that is asked about: by name, by the split, or the only one.
std::size_t node_type_of(const Dataset& dataset, const FeedOptions& options, bool listed) {
  const GraphSchema& schema = dataset.schema();
  if (!options.node_type.empty()) {
    if (schema.node_type(options.node_type) == nullptr)
      throw unknown_name("node type", options.node_type, type_names(schema));
    return type_index(schema, options.node_type);
  }
  if (!listed && options.part != Part::kAll) {
    if (const SplitSchema* split = schema.split(options.split))
      return type_index(schema, split->node_type);
  }
  if (schema.nodes.size() == 1) return 0;
  throw Error(ErrorCode::kUsage,
              "the dataset has several node types",
              fmt::format("set node_type to one of {}", fmt::join(type_names(schema), ", ")),
              at(dataset));
}

Array numbers_below(std::uint64_t count, MemoryLedger& ledger) {
  Array all =
      Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, &ledger, "seeds").or_throw();
  const auto ids = all.as<std::uint64_t>();
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return all;
}

Array part_of(Split&& split, Part part) {
  if (part == Part::kTrain) return std::move(split.train);
  return part == Part::kValid ? std::move(split.valid) : std::move(split.test);
}

[[noreturn]] void throw_no_split(const Dataset& dataset,
                                 const std::string& wanted,
                                 const std::vector<std::string>& known) {
  throw Error(
      ErrorCode::kUsage,
      fmt::format("the dataset has no split '{}'", wanted),
      known.empty()
          ? "import it with a [[splits]], set part=\"all\", or give what to ask about yourself"
          : fmt::format("set split to one of {}", fmt::join(known, ", ")),
      at(dataset));
}

void check_ids(const Array& ids, std::uint64_t count, const char* what) {
  const auto all = ids.as<std::uint64_t>();
  const auto bad = std::ranges::find_if(all, [&](std::uint64_t id) { return id >= count; });
  if (bad == all.end()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} {} is given, there are {}", what, *bad, count),
              "dense ids are counted from 0; name nodes by their own ids with Dataset.dense_ids()");
}

// By node, as NodeQueries wants them.
Array times_by_node(const Array& nodes,
                    const Array& times,
                    std::uint64_t count,
                    MemoryLedger& ledger) {
  Array all =
      Array::make(DType::kI64, {static_cast<std::int64_t>(count)}, &ledger, "seeds").or_throw();
  const auto out = all.as<std::int64_t>();
  std::ranges::fill(out, 0);
  const auto ids = nodes.as<std::uint64_t>();
  const auto given = times.as<std::int64_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) out[ids[i]] = given[i];
  return all;
}

std::shared_ptr<const NegativeSampler> negatives_of(const FeedOptions& options,
                                                    const GraphData& data,
                                                    RandomKey key,
                                                    MemoryLedger& ledger) {
  NegativeSamplerOptions drawn;
  drawn.count = options.negatives;
  drawn.filtered = options.filtered;
  if (options.negative_sampler == NegativeChoice::kDegree)
    return std::make_shared<DegreeNegatives>(data.graph(), drawn, key, &ledger);
  if (options.negative_sampler == NegativeChoice::kInBatch)
    return std::make_shared<InBatchNegatives>(data.graph(), drawn, key, &ledger);
  return std::make_shared<UniformNegatives>(data.graph(), drawn, key, &ledger);
}

}  // namespace

FeedSubject::FeedSubject(const Dataset& dataset, const FeedOptions& options, const FeedLists& lists)
    : kind_(options.queries), labels_(options.labels) {
  const GraphSchema& schema = dataset.schema();
  if (kind_ == QueryKind::kNodes) {
    type_ = node_type_of(dataset, options, !lists.nodes.shape().empty());
  } else if (kind_ == QueryKind::kLinks) {
    links_.emplace(options.links, schema, Asker{"the loader", "", "", "split", "part "});
    const bool timed =
        options.registry->samplers.create(options.sampler)->needs_times();  // sees the past alone
    split_ = !timed && !lists.has_links() && options.part != Part::kAll;
    if (!split_) return;
    const auto types = labels_ ? LinkParts::RowTypes::kLabels : LinkParts::RowTypes::kPassedOver;
    links_->open(dataset, options.split, RandomKey(options.seed), types);
  } else if (!schema.graphs) {
    throw Error(ErrorCode::kUsage,
                "the dataset is no collection of graphs",
                "ask about nodes or links",
                at(dataset));
  }
}

std::vector<std::shared_ptr<const EdgeRule>> FeedSubject::edge_rules() const {
  if (!split_) return {};
  return links_->rules();
}

LabelsOf FeedSubject::labels_of() const {
  if (!labels_) return {};
  if (kind_ == QueryKind::kNodes) return {type_, {}};
  if (kind_ == QueryKind::kGraphs) return {.graphs = true};
  return {{}, links_->relation(), links_->row_classes()};
}

bool FeedSubject::same_data(const FeedSubject& other) const {
  if (kind_ != other.kind_ || type_ != other.type_ || split_ != other.split_ ||
      labels_ != other.labels_)
    return false;
  return !links_ || links_->relation() == other.links_->relation();
}

std::vector<std::string> FeedSubject::warnings(const GraphData& data) const {
  if (!split_) return {};
  return links_->warnings(data);
}

std::shared_ptr<const QuerySource> FeedSubject::queries(
    const Dataset& dataset,
    const GraphData& data,
    const FeedOptions& options,
    const FeedLists& lists,
    std::shared_ptr<const SamplerMethod> sampler,
    MemoryLedger& ledger) const {
  const Asked asked{dataset, data, options, lists, std::move(sampler), ledger};
  if (kind_ == QueryKind::kLinks) return link_queries(asked);
  return kind_ == QueryKind::kGraphs ? graph_queries(asked) : node_queries(asked);
}

std::shared_ptr<const QuerySource> FeedSubject::node_queries(const Asked& asked) const {
  const NodeTypeSchema& type = asked.data.schema().nodes[type_];
  NodeQueryOptions options;
  options.nodes = asked.lists.nodes;
  if (!options.nodes.shape().empty()) {
    check_ids(options.nodes, type.count, "node");
  } else if (asked.options.part == Part::kAll) {
    options.nodes = numbers_below(type.count, asked.ledger);
  } else {
    std::vector<std::string> known;
    for (const SplitSchema& split : asked.data.schema().splits) {
      if (split.node_type == type.name) known.push_back(split.name);
    }
    if (std::ranges::find(known, asked.options.split) == known.end())
      throw_no_split(asked.dataset, asked.options.split, known);
    options.nodes = part_of(asked.dataset.split(asked.options.split), asked.options.part);
  }
  if (asked.timed()) {
    options.times =
        asked.lists.node_times.shape().empty()
            ? asked.data.node_times(type_)
            : times_by_node(options.nodes, asked.lists.node_times, type.count, asked.ledger);
  }
  options.type = type_;
  options.batch_size = asked.options.batch_size;
  options.shuffle = asked.options.shuffle;
  options.key = asked.key();
  options.sampler = asked.sampler;
  return std::make_shared<NodeQueries>(asked.data.schema(), std::move(options), &asked.ledger);
}

// The relation's events in the order of time, or the stretch of it that a part is.
std::shared_ptr<const Links> FeedSubject::events(const Asked& asked) const {
  const auto& temporal = asked.data.graph().temporal;
  const std::size_t relation = links_->relation();
  if (relation >= temporal.size() || !temporal[relation])
    throw Error(ErrorCode::kUsage,
                fmt::format("relation '{}' has no times, which sampler '{}' needs",
                            asked.data.schema().relations[relation].key(),
                            asked.options.sampler.type),
                "choose another sampler, neighbor for one",
                at(asked.dataset));
  ThreadArena arena(asked.options.data_threads);
  auto all = std::make_shared<EventLinks>(
      EventLinks::make(temporal[relation], arena, &asked.ledger).or_throw());
  if (asked.options.part == Part::kAll) return all;
  const std::vector<double>& shares = asked.options.links.edge_split;
  if (shares.size() != 3)
    throw Error(ErrorCode::kUsage,
                "events have no train, valid and test parts until edge_split says which stretches "
                "of time these are",
                "for example edge_split=[0.7, 0.15, 0.15], or part=\"all\"");
  const auto place = [&](double share) {
    return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(all->size())));
  };
  const std::array<std::uint64_t, 4> ends{
      0, place(shares[0]), place(shares[0] + shares[1]), all->size()};
  const auto part = static_cast<std::size_t>(asked.options.part);
  return std::make_shared<EventLinks>(
      all->range(std::min(ends.at(part), all->size()), std::min(ends.at(part + 1), all->size())));
}

std::shared_ptr<const Links> FeedSubject::links(const Asked& asked) const {
  if (asked.lists.has_links()) {
    const GraphSchema& schema = asked.data.schema();
    check_ids(asked.lists.links.sources, schema.nodes[links_->source_type()].count, "source");
    check_ids(asked.lists.links.targets, schema.nodes[links_->destination_type()].count, "target");
    if (asked.timed() && asked.lists.links.times.shape().empty())
      throw Error(ErrorCode::kUsage,
                  fmt::format("links are given without times, which sampler '{}' needs",
                              asked.options.sampler.type),
                  "give times=, one a link");
    LinkArrays given = asked.lists.links;
    if (!asked.timed()) given.times = {};
    return std::make_shared<ListedLinks>(std::move(given));
  }
  if (asked.timed()) return events(asked);
  if (split_) return links_->links(asked.options.part, asked.data);
  return std::make_shared<RelationLinks>(asked.data.graph().relations.at(links_->relation()));
}

std::shared_ptr<const QuerySource> FeedSubject::link_queries(const Asked& asked) const {
  const FeedOptions& given = asked.options;
  if (split_ && given.negatives > 0) links_->check_reverse(asked.data);
  auto about = links(asked);
  LinkQueryOptions options;
  options.relation = links_->relation();
  options.batch_size = given.batch_size;
  options.shuffle = asked.shuffle();
  options.key = asked.key();
  // A list that has examples of none needs no others.
  if (given.negatives > 0 && !about->have_truth())
    options.negatives =
        negatives_of(given, asked.data, asked.key().with(to_string(given.part)), asked.ledger);
  const bool trains = given.part == Part::kTrain || given.part == Part::kAll;
  options.exclude = given.hide_links && trains && !asked.timed();
  options.reverse = links_->reverse();
  options.events = asked.sampler && asked.sampler->needs_events();
  return std::make_shared<LinkQueries>(asked.data.schema(), std::move(about), std::move(options));
}

std::shared_ptr<const QuerySource> FeedSubject::graph_queries(const Asked& asked) const {
  const GraphSchema& schema = asked.data.schema();
  GraphQueryOptions options;
  options.offsets = asked.dataset.graphs().offsets;
  options.type = type_index(schema, schema.graphs->node_type);
  options.graphs = asked.lists.graphs;
  if (!options.graphs.shape().empty()) {
    check_ids(options.graphs, schema.graphs->count, "graph");
  } else if (asked.options.part == Part::kAll) {
    options.graphs = numbers_below(schema.graphs->count, asked.ledger);
  } else {
    std::vector<std::string> known;
    for (const SplitSchema& split : schema.graphs->splits) known.push_back(split.name);
    if (std::ranges::find(known, asked.options.split) == known.end())
      throw_no_split(asked.dataset, asked.options.split, known);
    options.graphs = part_of(asked.dataset.graph_split(asked.options.split), asked.options.part);
  }
  options.batch_size = asked.options.batch_size;
  options.shuffle = asked.shuffle();
  options.key = asked.key();
  return std::make_shared<GraphQueries>(std::move(options), schema.nodes.size());
}

}  // namespace sluice
