#include <sluice/queries/link_parts.h>

#include "core/type_index.h"
#include "queries/reverse_relation.h"
#include "samplers/held_out_edges.h"

#include <sluice/catalog.h>
#include <sluice/sampler.h>
#include <sluice/samplers/links.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

bool is_called(const RelationSchema& relation, const std::string& name) {
  return relation.name == name || relation.key() == name;
}

std::size_t find_relation(const GraphSchema& schema,
                          const std::string& name,
                          const Asker& asker,
                          const char* key) {
  std::vector<std::string> known;
  std::vector<std::size_t> found;
  for (std::size_t r = 0; r < schema.relations.size(); ++r) {
    known.push_back(schema.relations[r].key());
    if (name.empty() || is_called(schema.relations[r], name)) found.push_back(r);
  }
  if (found.size() == 1) return found[0];
  if (!name.empty() && found.empty())
    throw unknown_name(fmt::format("relation for {}{}", asker.prefix, key), name, known);
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: the dataset has {} relations{}",
                          asker.who,
                          found.size(),
                          name.empty() ? "" : fmt::format(" called '{}'", name)),
              fmt::format("set {}{} to one of {}", asker.table, key, fmt::join(known, ", ")));
}

std::array<double, 3> shares_of(const std::vector<double>& given, const Asker& asker) {
  const double sum = std::accumulate(given.begin(), given.end(), 0.0);
  const bool sound = given.size() == 3 && std::abs(sum - 1) < 1e-6 && given[0] > 0 &&
                     std::ranges::none_of(given, [](double share) { return share < 0; });
  if (sound) return {given[0], given[1], given[2]};
  throw Error(
      ErrorCode::kUsage,
      fmt::format("'{}edge_split' is not three shares that sum to 1, that of training above 0",
                  asker.prefix),
      "for example edge_split = [0.85, 0.05, 0.1]: train, valid, test");
}

std::uint64_t rounded(double share, std::uint64_t edges) {
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(edges)));
}

}  // namespace

void LinkPartsOptions::describe(Schema& schema) {
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

LinkParts::LinkParts(LinkPartsOptions options, const GraphSchema& schema, Asker asker)
    : options_(std::move(options)),
      asker_(std::move(asker)),
      relation_(find_relation(schema, options_.relation, asker_, "relation")) {
  const RelationSchema& relation = schema.relations[relation_];
  source_type_ = type_index(schema, relation.source);
  destination_type_ = type_index(schema, relation.target);
  if (same_type()) reverse_ = relation_;
  if (options_.reverse.empty()) return;
  reverse_ = find_relation(schema, options_.reverse, asker_, "reverse");
  const RelationSchema& other = schema.relations[*reverse_];
  if (other.source == relation.target && other.target == relation.source) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("relation '{}' does not lead back from '{}' to '{}'",
                          other.key(),
                          relation.target,
                          relation.source),
              fmt::format("set {}reverse to one that does, or leave it out", asker_.table));
}

const EdgeSplitSchema* LinkParts::split_in(const GraphSchema& schema,
                                           const std::string& name) const {
  const auto found = std::ranges::find(schema.edge_splits, name, &EdgeSplitSchema::name);
  return found == schema.edge_splits.end() ? nullptr : &*found;
}

std::uint64_t LinkParts::expected(Part part,
                                  const GraphSchema& schema,
                                  const std::string& split) const {
  const RelationSchema& relation = schema.relations.at(relation_);
  const std::uint64_t edges = relation.edges + relation.appended;
  if (part == Part::kAll) return edges;
  if (!options_.edge_split.empty())
    return rounded(shares_of(options_.edge_split, asker_)[static_cast<std::size_t>(part)], edges);
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

void LinkParts::open(const Dataset& dataset,
                     const std::string& split,
                     RandomKey key,
                     RowTypes types) {
  rules_.assign(dataset.schema().relations.size(), nullptr);
  split_ = split;
  types_ = types;
  by_rows_ = false;
  train_ = valid_ = test_ = {};
  row_classes_ = {};
  if (options_.edge_split.empty()) return read_split(dataset);
  draw_split(key);
}

void LinkParts::draw_split(RandomKey key) {
  const auto ends = same_type() ? DrawnEdges::Ends::kEither : DrawnEdges::Ends::kOrdered;
  rules_[relation_] = std::make_shared<DrawnEdges>(
      shares_of(options_.edge_split, asker_), ends, key.with("edge_split").with(relation_));
  if (reverse_ && *reverse_ != relation_)
    rules_[*reverse_] = std::make_shared<ReversedEdges>(rules_[relation_]);
}

void LinkParts::read_split(const Dataset& dataset) {
  const EdgeSplitSchema* const found = split_in(dataset.schema(), split_);
  if (found == nullptr)
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{}: the dataset has no edge split '{}'", asker_.who, split_),
        fmt::format("set {}edge_split, for example [0.85, 0.05, 0.1], to draw one", asker_.table),
        Place{dataset.path(), -1, -1, -1});
  EdgeSplit split = dataset.edge_split(split_);
  split.relation.empty() ? take_rows(split, dataset) : take_ids(std::move(split), dataset);
}

std::shared_ptr<const Links> LinkParts::links(Part part, const GraphData& data) const {
  const HeldOutEdges* const held = data.held_out(relation_);
  if (part == Part::kValid)
    return std::make_shared<ListedLinks>(by_rows_ || held == nullptr ? valid_ : held->valid);
  if (part == Part::kTest)
    return std::make_shared<ListedLinks>(by_rows_ || held == nullptr ? test_ : held->test);
  if (part == Part::kAll)
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has no part of all links", asker_.who),
                fmt::format("choose {}train, valid or test", asker_.part));
  if (train_.sources.empty())
    return std::make_shared<RelationLinks>(data.graph().relations.at(relation_));
  return std::make_shared<ListedLinks>(train_);
}

void LinkParts::check_reverse(const GraphData& data) const {
  const auto back = unnamed_reverse(data, relation_, reverse_);
  if (!back) return;
  const auto& relations = data.schema().relations;
  throw Error(ErrorCode::kUsage,
              fmt::format("{}: relation '{}' holds the edges of '{}' the other way round, and "
                          "would show the links that are asked about",
                          asker_.who,
                          relations[*back].key(),
                          relations[relation_].key()),
              fmt::format("set {}reverse = \"{}\"", asker_.table, relations[*back].key()));
}

}  // namespace sluice
