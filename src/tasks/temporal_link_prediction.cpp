#include "tasks/temporal_link_prediction.h"

#include "core/hash.h"
#include "samplers/listed_negatives.h"
#include "samplers/stored_ends.h"

#include <sluice/loader.h>
#include <sluice/queries/link_parts.h>
#include <sluice/sampler.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

namespace sluice::tasks {
namespace {

constexpr const char* kTaskName = "task 'temporal_link_prediction'";

[[noreturn]] void refuse_run(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, fmt::format("{}: {}", kTaskName, message), hint);
}

TemporalVisibility visibility_called(std::string_view name) {
  for (const TemporalVisibility each : {TemporalVisibility::kStrict,
                                        TemporalVisibility::kEventOrder,
                                        TemporalVisibility::kBatchLag,
                                        TemporalVisibility::kInclusive}) {
    if (to_string(each) == name) return each;
  }
  refuse_run("this model asks about times, which [sampler] type gives none of",
             "set sampler.type = \"temporal\"");
}

// Joining rows of databases is no prediction: scores would be told the answer.
void check_predicts(std::string_view visibility) {
  if (visibility == to_string(TemporalVisibility::kInclusive))
    refuse_run("visibility 'inclusive' shows each query the event that it asks about",
               "set sampler.visibility = \"strict\"");
}

// Whether a relation holds the edges of another one the other way round, as far as a schema tells.
bool leads_back(const RelationSchema& relation, const RelationSchema& of) {
  return relation.has_times && relation.source == of.target && relation.target == of.source &&
         relation.edges == of.edges && relation.edge_id_bound == of.edge_id_bound;
}

// The only relation with times, but for one behind it that leads back.
std::string events_in(const GraphSchema& schema) {
  std::vector<const RelationSchema*> found;
  for (const RelationSchema& relation : schema.relations) {
    const bool reverse = std::ranges::any_of(
        found, [&](const RelationSchema* of) { return leads_back(relation, *of); });
    if (relation.has_times && !reverse) found.push_back(&relation);
  }
  return found.size() == 1 ? found.front()->key() : std::string();
}

Array zeroed_bytes(std::uint64_t nodes, MemoryLedger* ledger) {
  Array made =
      Array::make(DType::kU8, {static_cast<std::int64_t>(nodes)}, ledger, "seen nodes").or_throw();
  std::ranges::fill(made.as<std::uint8_t>(), std::uint8_t{0});
  return made;
}

}  // namespace

TemporalLinkPrediction::TemporalLinkPrediction(const Options& options, const TaskContext& context)
    : options_(options) {
  options.check();
  LinkPartsOptions asked;
  asked.relation = options.relation.empty() ? events_in(context.schema) : options.relation;
  const LinkParts found(asked, context.schema, Asker{kTaskName});
  relation_ = found.relation();
  source_type_ = found.source_type();
  destination_type_ = found.destination_type();
  const RelationSchema& relation = context.schema.relations[relation_];
  if (!relation.has_times)
    refuse_run(fmt::format("relation '{}' has no times", relation.key()),
               "import it with a time_column, or set task.type = \"link_prediction\"");
  decoder_ = std::make_shared<MergeDecoder>(
      options.width, options.decoder_hidden, context.key.with("decoder"));
}

std::vector<std::size_t> TemporalLinkPrediction::target_types() const {
  if (source_type_ == destination_type_) return {source_type_};
  return {std::min(source_type_, destination_type_), std::max(source_type_, destination_type_)};
}

std::uint64_t TemporalLinkPrediction::expected(Part part,
                                               const GraphSchema& schema,
                                               const std::string& split) const {
  if (options_.split.by == SplitBy::kStored && part != Part::kAll) {
    const auto found = std::ranges::find(schema.edge_splits, split, &EdgeSplitSchema::name);
    if (found == schema.edge_splits.end()) return 0;
    if (part != Part::kTrain) return part == Part::kValid ? found->valid : found->test;
    const std::uint64_t edges = schema.relations.at(relation_).edges;
    return found->train != 0 ? found->train : edges - std::min(edges, found->valid + found->test);
  }
  const RelationSchema& relation = schema.relations.at(relation_);
  return EventParts::expected(part, options_.split, relation.edges + relation.appended);
}

void TemporalLinkPrediction::open(const TaskData& data) {
  dataset_ = &data.dataset;
  key_ = data.key;
  stored_split_.reset();
  if (options_.split.by != SplitBy::kStored) return;
  const GraphSchema& schema = data.dataset.schema();
  const std::string key = schema.relations[relation_].key();
  const auto found = std::ranges::find(schema.edge_splits, data.split, &EdgeSplitSchema::name);
  if (found == schema.edge_splits.end() || found->relation != key)
    refuse_run(fmt::format("the dataset has no edge split '{}' of relation '{}'", data.split, key),
               "set task.split_by = \"ratio\", or choose another [dataset] split");
  stored_split_ = data.dataset.edge_split(data.split);
}

// Which events there are is known in RAM. Where those that are sampled stay on disk, the asked
// relation's are loaded beside them.
std::shared_ptr<const TemporalGraph> TemporalLinkPrediction::events_of(
    const GraphData& data) const {
  const SamplerGraph& graph = data.graph();
  if (relation_ < graph.temporal.size() && graph.temporal[relation_])
    return graph.temporal[relation_];
  if (relation_ >= graph.paged_events.size() || !graph.paged_events[relation_])
    refuse_run("events are asked about at their times, which [sampler] type gives none of",
               "set sampler.type = \"temporal\"");
  return std::make_shared<const TemporalGraph>(
      TemporalGraph::load(*dataset_, data.schema().relations[relation_].key()).or_throw());
}

void TemporalLinkPrediction::attach(const GraphData& data) {
  history_.reset();
  ledger_ = data.ledger();
  asked_ = {};
  all_.reset();
  graph_.reset();
  graph_ = events_of(data);
  const GraphSchema& schema = data.schema();
  num_sources_ = schema.nodes[source_type_].count;
  num_destinations_ = schema.nodes[destination_type_].count;
  ThreadArena arena;
  all_.emplace(EventLinks::make(graph_, arena, ledger_).or_throw());
  if (!since_.empty()) return attach_stages();
  ask(Era::kNew,
      EventParts(*all_, options_.split, stored_split_ ? &*stored_split_ : nullptr, ledger_));
}

void TemporalLinkPrediction::ask(Era era, EventParts parts) {
  Asked& of = asked_.at(static_cast<std::size_t>(era)).emplace(Asked{std::move(parts)});
  of.seen = nodes_seen();
  of.training = make_negatives(of.parts, options_.training_columns(), key_.with("train"), {});
  if (asks_ == Asks::kBestEnds)
    of.everybody = make_negatives(of.parts, {{EventNegativeKind::kEverybody, 0}}, key_, {});
  if (!options_.stored_negatives.empty()) return read_stored_negatives(of);
  of.validation =
      make_negatives(of.parts, options_.evaluation_columns(), key_.with("evaluation"), {});
  of.testing = of.validation;
}

// Each part has a list of its own, all of one width.
void TemporalLinkPrediction::read_stored_negatives(Asked& of) const {
  std::vector<EventColumns> columns = options_.evaluation_columns();
  std::vector<ListedPart> listed{{Part::kTrain, of.parts.links(Part::kTrain)}};
  for (const Part part : {Part::kValid, Part::kTest}) {
    const StoredEnds stored = StoredEnds::open(
        std::filesystem::path(options_.stored_negatives) / (to_string(part) + ".npy"),
        {of.parts.count(part),
         num_destinations_,
         "events",
         "destinations",
         "task.stored_negatives",
         "a row an event in the order of time"});
    stored.check_beside(*of.parts.links(part), StoredSide::kDestinations);
    const auto width = static_cast<std::size_t>(stored.columns());
    if (part == Part::kTest && width != columns.back().count)
      refuse_run(fmt::format("stored negatives are {} a validation event, and {} a test event",
                             columns.back().count,
                             width),
                 "write both with as many columns: -1 where an event has fewer");
    columns.back().count = width;
    Array rows = stored.read_all(ledger_);
    listed.push_back(
        {part, of.parts.links(part), xxh3_64(std::as_bytes(rows.as<std::uint64_t>()))});
    (part == Part::kValid ? of.validation : of.testing) =
        make_negatives(of.parts, columns, key_.with("evaluation"), std::move(rows));
  }
  check_listed(options_.stored_negatives, listed);
}

std::shared_ptr<const EventNegatives> TemporalLinkPrediction::make_negatives(
    const EventParts& parts, std::vector<EventColumns> columns, RandomKey key, Array stored) const {
  EventNegativeOptions options;
  options.columns = std::move(columns);
  const bool everybody = options.columns.front().kind == EventNegativeKind::kEverybody;
  options.candidates = everybody ? EventCandidates::kNodes : options_.candidates;
  options.training_end = parts.training_end();
  options.key = key;
  options.stored = std::move(stored);
  ThreadArena arena;
  return std::make_shared<const EventNegatives>(
      EventNegatives::make(graph_, num_sources_, std::move(options), arena, ledger_).or_throw());
}

// By training of all eras so far.
std::shared_ptr<const SeenNodes> TemporalLinkPrediction::nodes_seen() const {
  auto seen = std::make_shared<SeenNodes>();
  seen->source_type = source_type_;
  seen->destination_type = destination_type_;
  seen->sources = zeroed_bytes(num_sources_, ledger_);
  seen->destinations =
      source_type_ == destination_type_ ? seen->sources : zeroed_bytes(num_destinations_, ledger_);
  const auto sources = seen->sources.as<std::uint8_t>();
  const auto destinations = seen->destinations.as<std::uint8_t>();
  const auto note = [&](std::uint64_t /*number*/, std::uint64_t source, std::uint64_t destination) {
    sources[source] = 1;
    destinations[destination] = 1;
  };
  for (const std::optional<Asked>& era : asked_)
    if (era) for_each_link(*era->parts.links(Part::kTrain), note).or_throw();
  return seen;
}

void TemporalLinkPrediction::serve(PairModel& model, std::string_view visibility) {
  check_predicts(visibility);
  visibility_ = visibility_called(visibility);
  ThreadArena arena;
  history_ = std::make_shared<const PairHistory>(
      PairHistory::make(*graph_, num_sources_, arena, ledger_).or_throw());
  model.read(*history_, ledger_);
}

std::uint64_t TemporalLinkPrediction::count(Part part, const GraphData& /*data*/) const {
  return asked().parts.count(part);
}

// What stands beside events. A part is shuffled for training alone, which events are not: training
// has negatives of its own, and an evaluation of its part those of evaluations, as far as these are
// not stored.
std::shared_ptr<const EventNegatives> TemporalLinkPrediction::negatives_for(
    const QueryRequest& request) const {
  const bool trains = request.part == Part::kTrain && request.shuffle;
  if (trains) return asked().training;
  // A PairModel is asked about all without their being seeds.
  if (asks_ == Asks::kBestEnds) return history_ ? nullptr : asked().everybody;
  if (request.ends_alone || request.links) return nullptr;
  if (request.part == Part::kTrain && !options_.stored_negatives.empty()) return nullptr;
  if (request.part == Part::kAll) return nullptr;
  return request.part == Part::kValid ? asked().validation : asked().testing;
}

std::unique_ptr<QuerySource> TemporalLinkPrediction::queries(const QueryRequest& request,
                                                             const GraphData& data) const {
  if (request.sampler && !request.sampler->needs_times())
    refuse_run("events are asked about at their times, which [sampler] type gives none of",
               "set sampler.type = \"temporal\"");
  if (request.sampler) check_predicts(request.sampler->visibility());
  EventQueryOptions options = query_options(request);
  options.negatives = negatives_for(request);
  return std::make_unique<EventQueries>(
      data.schema(),
      request.links ? request.links : asked().parts.links(request.part),
      std::move(options));
}

EventQueryOptions TemporalLinkPrediction::query_options(const QueryRequest& request) const {
  EventQueryOptions options;
  options.relation = relation_;
  options.batch_size = request.batch_size;
  options.seeds = !request.sampler                  ? EventSeeds::kNodes
                  : request.sampler->needs_events() ? EventSeeds::kEvents
                                                    : EventSeeds::kTimes;
  return options;
}

std::unique_ptr<MetricAccumulator> TemporalLinkPrediction::make_metrics() const {
  // Before the data is there: names alone.
  if (!asked_[0]) return make_temporal_link_metrics(options_.evaluation_columns(), nullptr);
  return make_temporal_link_metrics(asked().testing->columns(), asked().seen);
}

std::string TemporalLinkPrediction::main_metric() const {
  if (options_.eval_negatives.empty()) return "mrr";
  const std::string& first = options_.eval_negatives.front();
  return first == "random" ? "ap" : "ap." + first;
}

std::vector<Array> TemporalLinkPrediction::predicted_nodes(const Batch& batch) const {
  const Queries& queries = batch.queries;
  const auto nodes = [](const Array& rows, const Array& seeds) {
    Array made = Array::make(DType::kU64, {rows.numel()}).or_throw();
    const auto ids = seeds.as<std::uint64_t>();
    std::ranges::transform(rows.as<std::int64_t>(),
                           made.as<std::uint64_t>().begin(),
                           [&](std::int64_t row) { return ids[static_cast<std::size_t>(row)]; });
    return made;
  };
  return {nodes(queries.sources, batch.seeds[queries.type]),
          nodes(queries.destinations, batch.seeds[queries.destination_type])};
}

torch::Tensor TemporalLinkPrediction::predict(const torch::Tensor& outputs) const {
  const torch::Tensor own = outputs.narrow(1, 0, 1);
  // Scores may go by times, which f32 cannot tell apart.
  return history_ ? own.to(torch::kFloat64) : torch::sigmoid(own).to(torch::kFloat32);
}

std::vector<std::string> TemporalLinkPrediction::prediction_columns() const {
  return {history_ ? "score" : "probability"};
}

}  // namespace sluice::tasks
