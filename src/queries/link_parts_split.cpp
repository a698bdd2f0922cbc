// The dataset's own edge splits, as LinkParts goes by them.
#include "samplers/held_out_edges.h"

#include <sluice/queries/link_parts.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {

// Links that stand apart: those of valid and test may be edges of the relation all the same.
void LinkParts::take_rows(const EdgeSplit& split, const Dataset& dataset) {
  by_rows_ = true;
  train_ = rows_of(split.train, dataset, Part::kTrain);
  valid_ = rows_of(split.valid, dataset, Part::kValid);
  test_ = rows_of(split.test, dataset, Part::kTest);
  const auto none = [](const LinkArrays& links) { return links.sources.empty(); };
  const bool empty = none(train_) && none(valid_) && none(test_);
  if (empty || (none(train_) && !split.train.empty()))
    throw Error(ErrorCode::kUsage,
                fmt::format("edge split '{}' has no {}edges of relation '{}'",
                            split_,
                            empty ? "" : "training ",
                            dataset.schema().relations[relation_].key()),
                fmt::format("choose another {} or {}relation", asker_.split, asker_.table),
                Place{dataset.path(), -1, -1, -1});
  if (types_ != RowTypes::kPassedOver) give_ids(dataset);
  // Links that are told apart by their types stand apart from the relation's as they are.
  if (types_ == RowTypes::kRelations) return;
  const auto rule = std::make_shared<const ListedPairs>(
      valid_, test_, same_type() ? Twins::kEitherWay : Twins::kSameEnds, dataset.ledger());
  rules_[relation_] = rule;
  if (reverse_ && *reverse_ != relation_) rules_[*reverse_] = std::make_shared<ReversedEdges>(rule);
}

void LinkParts::take_ids(EdgeSplit split, const Dataset& dataset) {
  const RelationSchema& relation = dataset.schema().relations[relation_];
  const std::string key = relation.key();
  const Place place{dataset.path(), -1, -1, -1};
  if (split.relation != key)
    throw Error(ErrorCode::kUsage,
                fmt::format("edge split '{}' is of relation '{}', {} is about '{}'",
                            split_,
                            split.relation,
                            asker_.who,
                            key),
                fmt::format("choose another {} or {}relation", asker_.split, asker_.table),
                place);
  if (reverse_ && *reverse_ != relation_)
    throw Error(ErrorCode::kUsage,
                fmt::format("edge split '{}' lists edges of '{}' by their ids, which says nothing "
                            "of the same edges in {}reverse",
                            split_,
                            key,
                            asker_.table),
                fmt::format("set {}edge_split, to draw a split by the edges' ends", asker_.table),
                place);
  // Where the parts have all ids, training edges are what is left: their list need not stay.
  const auto listed =
      static_cast<std::uint64_t>(split.train.numel() + split.valid.numel() + split.test.numel());
  if (listed == relation.edge_id_bound) split.train = {};
  rules_[relation_] = std::make_shared<ListedEdges>(
      SplitEdgeIds{std::move(split.train), std::move(split.valid), std::move(split.test)},
      fmt::format("{}: edge split '{}' of '{}'", dataset.path(), split_, key),
      same_type() ? Twins::kEitherWay : Twins::kSameEnds);
}

// Rows of EdgeSplit::Row that are of the relation.
LinkArrays LinkParts::rows_of(const Array& rows, const Dataset& dataset, Part part) const {
  LinkArrays links;
  if (rows.empty()) return links;
  const GraphSchema& schema = dataset.schema();
  const auto all = rows.as<std::uint64_t>();
  constexpr std::size_t kColumns = 5;
  std::vector<std::size_t> own;
  bool false_ones = false;
  for (std::size_t row = 0; row < all.size() / kColumns; ++row) {
    const auto cells = all.subspan(row * kColumns, kColumns);
    if (cells[0] >= schema.relations.size()) throw_no_row(dataset, part, row, "relation", cells[0]);
    if (cells[0] != relation_) continue;
    if (cells[2] >= schema.nodes[source_type_].count)
      throw_no_row(dataset, part, row, "source", cells[2]);
    if (cells[3] >= schema.nodes[destination_type_].count)
      throw_no_row(dataset, part, row, "target", cells[3]);
    own.push_back(row);
    false_ones = false_ones || cells[4] == 0;
  }
  const auto make = [&](DType dtype) {
    return Array::make(
               dtype, {static_cast<std::int64_t>(own.size())}, dataset.ledger(), "edge split")
        .or_throw();
  };
  links.sources = make(DType::kU64);
  links.targets = make(DType::kU64);
  if (false_ones) links.truth = make(DType::kU8);
  if (types_ != RowTypes::kPassedOver) links.ids = make(DType::kU64);  // classes, until give_ids()
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto row = all.subspan(own[i] * kColumns, kColumns);
    links.sources.as<std::uint64_t>()[i] = row[2];
    links.targets.as<std::uint64_t>()[i] = row[3];
    if (false_ones) links.truth.as<std::uint8_t>()[i] = row[4] != 0 ? 1 : 0;
    if (!links.ids.shape().empty()) links.ids.as<std::uint64_t>()[i] = row[1];
  }
  return links;
}

void LinkParts::throw_no_row(const Dataset& dataset,
                             Part part,
                             std::size_t row,
                             const char* what,
                             std::uint64_t value) const {
  throw Error(
      ErrorCode::kData,
      fmt::format("edge split '{}', part {}: row {} names a {} that is not there: number {}",
                  split_,
                  to_string(part),
                  row,
                  what,
                  value),
      "the split must name what the dataset has: prepare both again from the same files",
      Place{dataset.path(), -1, -1, -1});
}

// Rows have classes where the relation's labels are types of edges: some are not 0 then.
void LinkParts::give_ids(const Dataset& dataset) {
  std::int64_t count = 0;
  bool classes = types_ == RowTypes::kRelations;
  for (const LinkArrays* links : {&train_, &valid_, &test_}) {
    count += links->ids.numel();
    classes = classes || (!links->ids.empty() &&
                          std::ranges::any_of(links->ids.as<std::uint64_t>(),
                                              [](std::uint64_t cell) { return cell != 0; }));
  }
  if (classes)
    row_classes_ = Array::make(DType::kI32, {count}, dataset.ledger(), "edge split").or_throw();
  std::uint64_t id = dataset.schema().relations[relation_].edge_id_bound;
  std::size_t at = 0;
  for (LinkArrays* links : {&train_, &valid_, &test_}) {
    if (!classes) links->ids = {};
    if (links->ids.empty()) continue;
    const auto ids = links->ids.as<std::uint64_t>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool link = types_ == RowTypes::kRelations || links->truth.empty() ||
                        links->truth.as<std::uint8_t>()[i] != 0;
      row_classes_.as<std::int32_t>()[at++] = link ? static_cast<std::int32_t>(ids[i]) : -1;
      ids[i] = id++;
    }
  }
}

std::vector<std::string> LinkParts::warnings(const GraphData& data) const {
  std::vector<std::string> said;
  const HeldOutEdges* const held = data.held_out(relation_);
  if (held == nullptr || !options_.edge_split.empty()) return said;
  const std::string key = data.schema().relations[relation_].key();
  const std::int64_t asked = held->valid.sources.numel() + held->test.sources.numel();
  if (by_rows_ && asked != 0)
    said.push_back(
        fmt::format("{} edges of '{}' are valid or test edges of split '{}': no mini-batch sees "
                    "them",
                    format_count(static_cast<std::uint64_t>(asked)),
                    key,
                    split_));
  if (const std::int64_t none = held->in_no_part(); none != 0)
    said.push_back(
        fmt::format("{} edges of '{}' are in no mini-batch: they are in no part of split '{}', or "
                    "have the ends of a valid or test edge",
                    format_count(static_cast<std::uint64_t>(none)),
                    key,
                    split_));
  return said;
}

}  // namespace sluice
