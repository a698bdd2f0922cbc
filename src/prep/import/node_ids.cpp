#include "prep/import/node_ids.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

namespace sluice {
namespace {

constexpr std::size_t kGrain = 16384;  // lookups a task

// Dense ids up to the largest are nodes, named or not. So many of them for each that is named are
// no accident, where they are many at all: the ids are numbers of another kind.
constexpr std::uint64_t kManyNodes = std::uint64_t{1} << 22;
constexpr std::uint64_t kMostNodesAName = 1000;
constexpr std::uint64_t kOddNodes = std::uint64_t{1} << 20, kOddNodesAName = 100;

}  // namespace

std::string IdValues::shown(std::size_t index) const {
  return integers.empty() ? fmt::format("'{}'", text[index].substr(0, 60))
                          : std::to_string(integers[index]);
}

NodeIds::NodeIds(std::string type, const IdRules& rules, MemoryLedger& ledger)
    : type_(std::move(type)), rules_(rules) {
  if (kind() == IdKind::kInteger) map_.emplace<IntegerIdMap>(ledger);
  if (kind() == IdKind::kString) map_.emplace<StringIdMap>(ledger);
}

void NodeIds::set_count(std::uint64_t count, const std::string& from, const Place& place) {
  if (!count_) {
    count_ = count;
    count_from_ = from;
  } else if (*count_ != count) {
    throw Error(ErrorCode::kData,
                fmt::format("{} rows for type '{}', which has {} nodes by {}",
                            format_count(count),
                            type_,
                            format_count(*count_),
                            count_from_),
                "every node needs exactly one row, in the order of the ids",
                place);
  }
}

void NodeIds::expect_dense(std::uint64_t count) {
  dense_ = std::max(dense_, count);
}

void NodeIds::note_dense(const IdValues& ids,
                         const IdPlace& place,
                         std::span<const std::uint64_t> nodes) {
  if (nodes.empty()) return;
  named_ += nodes.size();
  const auto largest = std::max_element(nodes.begin(), nodes.end());
  if (*largest + 1 <= dense_) return;
  dense_ = *largest + 1;
  if (dense_ < kOddNodes) return;
  const auto index = static_cast<std::size_t>(largest - nodes.begin());
  largest_ = place.table.value_error(
      place.first_row + index,
      place.column,
      fmt::format("the id {} would make {} nodes of type '{}'", ids.shown(index), dense_, type_),
      fmt::format(
          "for ids that do not number the nodes from {} say ids = \"integer\"; if there are "
          "so many nodes, most without edges, say count = {}",
          rules_.first_id,
          dense_));
}

std::string NodeIds::doubt() const {
  if (!largest_ || dense_ < kOddNodes || dense_ / kOddNodesAName < named_) return {};
  return fmt::format(
      "{}, and the edges name {}; {}", largest_->what(), format_count(named_), largest_->hint());
}

std::uint64_t NodeIds::taken() const {
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_)) return integers->size();
  if (const auto* strings = std::get_if<StringIdMap>(&map_)) return strings->size();
  return dense_;
}

bool NodeIds::usable(const IdValues& ids, std::size_t index) const {
  if (kind() == IdKind::kString) return !ids.text[index].empty();
  return kind() != IdKind::kDense || ids.integers[index] >= rules_.first_id;
}

void NodeIds::check_usable(const IdValues& ids, std::size_t index, const IdPlace& place) const {
  if (usable(ids, index)) return;
  const auto fail = [&](const std::string& reason, const std::string& hint) {
    throw place.table.value_error(place.first_row + index, place.column, reason, hint);
  };
  if (kind() == IdKind::kString) fail("the id is empty", "every row needs an id here");
  const std::int64_t id = ids.integers[index];
  if (rules_.first_id == 0)
    fail(fmt::format("the id {} is negative", id),
         "dense ids run from 0 to count - 1; for others say ids = \"integer\"");
  fail(fmt::format("the id {} is below the first, {}", id, rules_.first_id),
       "dense ids run from first_id on; for others say ids = \"integer\"");
}

std::uint64_t NodeIds::take(const IdValues& ids, std::size_t index) {
  if (auto* integers = std::get_if<IntegerIdMap>(&map_)) return integers->take(ids.integers[index]);
  return std::get<StringIdMap>(map_).take(ids.text[index]);
}

bool NodeIds::is_new(const IdValues& ids, std::size_t index) {
  const std::uint64_t before = taken();
  (void)take(ids, index);
  return taken() != before;
}

void NodeIds::list(const IdValues& ids, const IdPlace& place) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check_usable(ids, i, place);
    if (is_new(ids, i)) continue;
    throw place.table.value_error(place.first_row + i,
                                  place.column,
                                  fmt::format("the id {} stands here again", ids.shown(i)),
                                  "each node is listed once");
  }
}

void NodeIds::load(const ExternalIds& ids, std::uint64_t count) {
  for (std::uint64_t node = 0; node < count; ++node) {
    if (auto* integers = std::get_if<IntegerIdMap>(&map_)) (void)integers->take(ids.integer(node));
    if (auto* strings = std::get_if<StringIdMap>(&map_)) (void)strings->take(ids.text(node));
  }
}

void NodeIds::name(StringIdMap names, const std::string& from, const Place& place) {
  set_count(names.size(), from, place);
  names_ = std::move(names);
}

void NodeIds::close(const std::string& from) {
  if (largest_ && dense_ >= kManyNodes && dense_ / kMostNodesAName >= named_)
    throw Error(ErrorCode::kData,
                fmt::format("{}, and the edges name {}", largest_->message(), format_count(named_)),
                largest_->hint(),
                largest_->place());
  set_count(taken(), from, {});
}

// Fills nodes[0, end - begin); false when one is unknown. Without a count every dense id is known.
bool NodeIds::find_range(const IdValues& ids,
                         std::size_t begin,
                         std::size_t end,
                         std::uint64_t* nodes) const {
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_)) {
    integers->find_many(ids.integers.subspan(begin, end - begin), nodes);
  } else if (const auto* strings = std::get_if<StringIdMap>(&map_)) {
    strings->find_many(ids.text, begin, end, nodes);
  } else {
    // An id below the first becomes too large.
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    const std::uint64_t bound = count_.value_or(kMost);
    bool known = true;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t node = dense_node(ids.integers[i]);
      nodes[i - begin] = node < bound ? node : kNoNode;
      known = known && node < bound;
    }
    return known;
  }
  return std::find(nodes, nodes + (end - begin), kNoNode) == nodes + (end - begin);
}

void NodeIds::find(const IdValues& ids,
                   const IdPlace& place,
                   std::vector<std::uint64_t>& nodes,
                   ThreadArena& arena) const {
  nodes.resize(ids.size());
  std::atomic<bool> all_known = true;
  arena.for_ranges(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    if (!find_range(ids, begin, end, nodes.data() + begin)) all_known = false;
  });
  if (all_known || rules_.unknown == UnknownIds::kSkip) return;
  const auto first = std::find(nodes.begin(), nodes.end(), kNoNode);
  fail_unknown(ids, static_cast<std::size_t>(first - nodes.begin()), place);
}

void collect_rows(std::span<const NodeIdColumn> columns, ThreadArena& arena) {
  bool any_new = false;
  for (const NodeIdColumn& column : columns) {
    if (!column.collect) {
      column.ids.find(column.values, column.place, column.nodes, arena);
      continue;
    }
    column.nodes.resize(column.values.size());
    std::atomic<bool> all_known = true, all_usable = true;
    arena.for_ranges(column.values.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (!column.ids.usable(column.values, i)) all_usable = false;
      if (!column.ids.find_range(column.values, begin, end, column.nodes.data() + begin))
        all_known = false;
    });
    if (!all_usable) {
      for (std::size_t i = 0; i < column.values.size(); ++i)
        column.ids.check_usable(column.values, i, column.place);
    }
    if (column.ids.kind() == IdKind::kDense)
      column.ids.note_dense(column.values, column.place, column.nodes);
    any_new = any_new || !all_known;
  }
  if (!any_new) return;
  const std::size_t rows = columns.front().values.size();
  for (std::size_t row = 0; row < rows; ++row) {
    for (const NodeIdColumn& column : columns) {
      if (column.collect && column.nodes[row] == kNoNode)
        column.nodes[row] = column.ids.take(column.values, row);
    }
  }
}

void NodeIds::fail_unknown(const IdValues& ids, std::size_t index, const IdPlace& place) const {
  check_usable(ids, index, place);
  std::string reason, hint;
  if (kind() == IdKind::kDense) {
    reason = fmt::format("the id {} is out of range: type '{}' has {} nodes by {}",
                         ids.shown(index),
                         type_,
                         format_count(*count_),
                         count_from_);
    hint = fmt::format("dense ids run from {} to {}count - 1; for others say ids = \"integer\"",
                       rules_.first_id,
                       rules_.first_id == 0 ? "" : "first_id + ");
  } else {
    reason = fmt::format("no node of type '{}' has the id {}", type_, ids.shown(index));
    hint = fmt::format(
        "the ids are those of {}; unknown_ids = \"skip\" leaves out what has others, \"create\" "
        "makes "
        "nodes of them",
        count_from_);
  }
  throw place.table.value_error(place.first_row + index, place.column, reason, hint);
}

std::vector<std::string> NodeIds::texts() const {
  const auto& strings = std::get<StringIdMap>(map_);
  std::vector<std::string> all;
  all.reserve(strings.size());
  for (std::uint64_t node = 0; node < strings.size(); ++node) all.emplace_back(strings.id(node));
  return all;
}

void NodeIds::write(DatasetWriter& writer) const {
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_))
    writer.write(node_path(type_, "ids.bin"), integers->ids());
  const auto* const strings = names_ ? &*names_ : std::get_if<StringIdMap>(&map_);
  if (strings != nullptr) {
    writer.write(node_path(type_, "ids.offsets.bin"), strings->offsets());
    writer.write(node_path(type_, "ids.bin"), strings->bytes());
  }
  if (kind() != IdKind::kDense || stored_kind() != IdKind::kInteger) return;
  auto file = writer.create(node_path(type_, "ids.bin"));
  std::vector<std::int64_t> ids;
  for (std::uint64_t first = 0; first < *count_; first += ids.size()) {
    ids.resize(std::min<std::uint64_t>(kGrain, *count_ - first));
    std::iota(ids.begin(), ids.end(), rules_.first_id + static_cast<std::int64_t>(first));
    file->append_values(std::span<const std::int64_t>(ids));
  }
  writer.add(std::move(file));
}

}  // namespace sluice
