#include <sluice/tasks/link_task.h>

#include "core/type_index.h"
#include "samplers/held_out_edges.h"
#include "tasks/reverse_relation.h"

#include <sluice/samplers/link_queries.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice::tasks {
namespace {

bool is_called(const RelationSchema& relation, const std::string& name) {
  return relation.name == name || relation.key() == name;
}

std::size_t find_relation(const GraphSchema& schema,
                          const std::string& name,
                          const std::string& task,
                          const char* key) {
  std::vector<std::string> known;
  std::vector<std::size_t> found;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    known.push_back(schema.relations[r].key());
    if (name.empty() || is_called(schema.relations[r], name)) found.push_back(r);
  }
  if (found.size() == 1) return found[0];
  if (!name.empty() && found.empty())
    throw unknown_name(fmt::format("relation for task.{}", key), name, known);
  throw Error(ErrorCode::kUsage,
              fmt::format("task '{}': the dataset has {} relations{}",
                          task,
                          found.size(),
                          name.empty() ? "" : fmt::format(" called '{}'", name)),
              fmt::format("set [task] {} to one of {}", key, fmt::join(known, ", ")));
}

std::array<double, 3> shares_of(const std::vector<double>& given) {
  const double sum = std::accumulate(given.begin(), given.end(), 0.0);
  const bool sound = given.size() == 3 && std::abs(sum - 1) < 1e-6 && given[0] > 0 &&
                     std::ranges::none_of(given, [](double share) { return share < 0; });
  if (sound) return {given[0], given[1], given[2]};
  throw Error(ErrorCode::kUsage,
              "'task.edge_split' is not three shares that sum to 1, that of training above 0",
              "for example edge_split = [0.85, 0.05, 0.1]: train, valid, test");
}

std::uint64_t rounded(double share, std::uint64_t edges) {
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(edges)));
}

// Nodes by the rows that queries have of them.
Result<Array> nodes_at(const Array& rows, const Array& seeds) {
  auto made = Array::make(DType::kU64, {rows.numel()});
  if (!made) return made;
  const auto ids = seeds.as<std::uint64_t>();
  std::ranges::transform(rows.as<std::int64_t>(),
                         made.value().as<std::uint64_t>().begin(),
                         [&](std::int64_t row) { return ids[static_cast<std::size_t>(row)]; });
  return made;
}

}  // namespace

void LinkTaskOptions::describe(Schema& schema) {
  schema.field("relation", relation)
      .help("whose links: its name, or SOURCE__NAME__TARGET; empty: the only relation");
  schema.field("reverse", reverse)
      .help(
          "the relation that holds the same edges the other way round, so that it does not show "
          "what is asked; empty: for links between nodes of one type the relation itself");
  schema.field("edge_split", edge_split)
      .help(
          "shares of train, valid and test, drawn by the seed, both directions of an edge in one "
          "part; empty: the dataset's edge split that [dataset] split names")
      .range(0, 1);
}

LinkTask::LinkTask(LinkTaskOptions options, const GraphSchema& schema, std::string name)
    : options_(std::move(options)),
      name_(std::move(name)),
      relation_(find_relation(schema, options_.relation, name_, "relation")) {
  const RelationSchema& relation = schema.relations[relation_];
  source_type_ = type_index(schema, relation.source);
  destination_type_ = type_index(schema, relation.target);
  if (same_type()) reverse_ = relation_;
  if (options_.reverse.empty()) return;
  reverse_ = find_relation(schema, options_.reverse, name_, "reverse");
  const RelationSchema& other = schema.relations[*reverse_];
  if (other.source == relation.target && other.target == relation.source) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("relation '{}' does not lead back from '{}' to '{}'",
                          other.key(),
                          relation.target,
                          relation.source),
              "set [task] reverse to one that does, or leave it out");
}

std::vector<std::size_t> LinkTask::target_types() const {
  if (same_type()) return {source_type_};
  return {std::min(source_type_, destination_type_), std::max(source_type_, destination_type_)};
}

const EdgeSplitSchema* LinkTask::split_in(const GraphSchema& schema,
                                          const std::string& name) const {
  const auto found = std::ranges::find(schema.edge_splits, name, &EdgeSplitSchema::name);
  return found == schema.edge_splits.end() ? nullptr : &*found;
}

std::uint64_t LinkTask::expected(Part part,
                                 const GraphSchema& schema,
                                 const std::string& split) const {
  const RelationSchema& relation = schema.relations.at(relation_);
  const std::uint64_t edges = relation.edges + relation.appended;
  if (part == Part::kAll) return edges;
  if (!options_.edge_split.empty())
    return rounded(shares_of(options_.edge_split)[static_cast<std::size_t>(part)], edges);
  const EdgeSplitSchema* const found = split_in(schema, split);
  if (found == nullptr) return 0;
  // Edges of an undirected relation stand there twice under one id, and are asked about twice.
  const bool twice = !found->relation.empty() && relation.edges > relation.edge_id_bound;
  const std::uint64_t listed = part == Part::kValid  ? found->valid
                               : part == Part::kTest ? found->test
                                                     : found->train;
  if (part != Part::kTrain || listed != 0) return twice ? 2 * listed : listed;
  return edges - std::min(edges, found->valid + found->test);
}

void LinkTask::open(const TaskData& data) {
  rules_.assign(data.dataset.schema().relations.size(), nullptr);
  split_ = data.split;
  by_rows_ = false;
  row_classes_ = {};
  if (options_.edge_split.empty()) return read_split(data);
  draw_split(data);
}

void LinkTask::draw_split(const TaskData& data) {
  const auto ends = same_type() ? DrawnEdges::Ends::kEither : DrawnEdges::Ends::kOrdered;
  rules_[relation_] = std::make_shared<DrawnEdges>(
      shares_of(options_.edge_split), ends, data.key.with("edge_split").with(relation_));
  if (reverse_ && *reverse_ != relation_)
    rules_[*reverse_] = std::make_shared<ReversedEdges>(rules_[relation_]);
}

void LinkTask::read_split(const TaskData& data) {
  const GraphSchema& schema = data.dataset.schema();
  const EdgeSplitSchema* const found = split_in(schema, data.split);
  const Place place{data.dataset.path(), -1, -1, -1};
  if (found == nullptr)
    throw Error(ErrorCode::kUsage,
                fmt::format("task '{}': the dataset has no edge split '{}'", name_, data.split),
                "set [task] edge_split, for example [0.85, 0.05, 0.1], to draw one",
                place);
  EdgeSplit split = data.dataset.edge_split(data.split);
  split.relation.empty() ? take_rows(split, data) : take_ids(std::move(split), data);
}

std::shared_ptr<const Links> LinkTask::links(Part part, const GraphData& data) const {
  const HeldOutEdges* const held = data.held_out(relation_);
  if (part == Part::kValid)
    return std::make_shared<ListedLinks>(by_rows_ || held == nullptr ? valid_ : held->valid);
  if (part == Part::kTest)
    return std::make_shared<ListedLinks>(by_rows_ || held == nullptr ? test_ : held->test);
  if (part == Part::kAll)
    throw Error(ErrorCode::kUsage,
                fmt::format("task '{}' has no part of all links", name_),
                "choose --part train, valid or test");
  if (train_.sources.empty())
    return std::make_shared<RelationLinks>(data.graph().relations.at(relation_));
  return std::make_shared<ListedLinks>(train_);
}

std::uint64_t LinkTask::count(Part part, const GraphData& data) const {
  return links(part, data)->size();
}

std::unique_ptr<QuerySource> LinkTask::queries(const QueryRequest& request,
                                               const GraphData& data) const {
  if (request.sampler && request.sampler->needs_times())
    throw Error(ErrorCode::kUsage,
                "this task does not ask about links at times, which [sampler] type needs",
                "choose another sampler, neighbor for one");
  if (asks_whether()) {
    if (const auto back = unnamed_reverse(data, relation_, reverse_)) throw_reverse(data, *back);
  }
  auto asked = links(request.part, data);
  LinkQueryOptions options;
  options.relation = relation_;
  options.batch_size = request.batch_size;
  options.shuffle = request.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff;
  options.key = request.key;
  const Negatives wanted = negatives(request.part);
  // A list that has examples of none needs no others.
  if (wanted.count > 0 && !asked->have_truth() && !request.ends_alone) {
    NegativeSamplerOptions drawn;
    drawn.count = wanted.count;
    drawn.filtered = wanted.filtered;
    options.negatives = std::make_shared<UniformNegatives>(
        data.graph(), drawn, request.key.with(to_string(request.part)), request.ledger);
  }
  options.exclude = request.part == Part::kTrain && hides_links();
  options.reverse = reverse_;
  return std::make_unique<LinkQueries>(data.schema(), std::move(asked), std::move(options));
}

void LinkTask::throw_reverse(const GraphData& data, std::size_t back) const {
  const auto& relations = data.schema().relations;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("task '{}': relation '{}' holds the edges of '{}' the other way round, and "
                  "would show the links that are asked about",
                  name_,
                  relations[back].key(),
                  relations[relation_].key()),
      fmt::format("set [task] reverse = \"{}\"", relations[back].key()));
}

std::vector<Array> LinkTask::predicted_nodes(const Batch& batch) const {
  const Queries& queries = batch.queries;
  return {nodes_at(queries.sources, batch.seeds[queries.type]).or_throw(),
          nodes_at(queries.destinations, batch.seeds[queries.destination_type]).or_throw()};
}

}  // namespace sluice::tasks
