#include "prep/import/node_ids.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace sluice {
namespace {

constexpr std::size_t kGrain = 16384;  // lookups a task

}  // namespace

std::string IdValues::shown(std::size_t index) const {
  return integers.empty() ? fmt::format("'{}'", text[index].substr(0, 60))
                          : std::to_string(integers[index]);
}

NodeIds::NodeIds(std::string type, IdKind kind, MemoryLedger& ledger)
    : type_(std::move(type)), kind_(kind) {
  if (kind == IdKind::kInteger) map_.emplace<IntegerIdMap>(ledger);
  if (kind == IdKind::kString) map_.emplace<StringIdMap>(ledger);
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

void NodeIds::check_usable(const IdValues& ids, std::size_t index, const IdPlace& place) const {
  const auto fail = [&](const std::string& reason, const std::string& hint) {
    throw place.table.value_error(place.first_row + index, place.column, reason, hint);
  };
  if (kind_ == IdKind::kString && ids.text[index].empty())
    fail("the id is empty", "every row needs an id here");
  if (kind_ == IdKind::kDense && ids.integers[index] < 0) {
    fail(fmt::format("the id {} is negative", ids.integers[index]),
         "dense ids run from 0 to count - 1; for others say ids = \"integer\"");
  }
}

bool NodeIds::add(const IdValues& ids, std::size_t index) {
  if (auto* integers = std::get_if<IntegerIdMap>(&map_)) return integers->add(ids.integers[index]);
  if (auto* strings = std::get_if<StringIdMap>(&map_)) return strings->add(ids.text[index]);
  largest_ = std::max(largest_, ids.integers[index]);
  return true;
}

void NodeIds::collect(const IdValues& ids, std::size_t index, const IdPlace& place) {
  check_usable(ids, index, place);
  add(ids, index);
}

void NodeIds::list(const IdValues& ids, const IdPlace& place) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check_usable(ids, i, place);
    if (add(ids, i)) continue;
    throw place.table.value_error(place.first_row + i,
                                  place.column,
                                  fmt::format("the id {} stands here again", ids.shown(i)),
                                  "each node is listed once");
  }
}

void NodeIds::load(const ExternalIds& ids, std::uint64_t count) {
  for (std::uint64_t node = 0; node < count; ++node) {
    if (auto* integers = std::get_if<IntegerIdMap>(&map_)) integers->add(ids.integer(node));
    if (auto* strings = std::get_if<StringIdMap>(&map_)) strings->add(ids.text(node));
  }
}

void NodeIds::close(const std::string& from) {
  std::uint64_t count = static_cast<std::uint64_t>(largest_ + 1);
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_)) count = integers->size();
  if (const auto* strings = std::get_if<StringIdMap>(&map_)) count = strings->size();
  set_count(count, from, {});
}

std::uint64_t NodeIds::find_one(const IdValues& ids, std::size_t index) const {
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_))
    return integers->find(ids.integers[index]);
  if (const auto* strings = std::get_if<StringIdMap>(&map_)) return strings->find(ids.text[index]);
  const auto id =
      static_cast<std::uint64_t>(ids.integers[index]);  // a negative id becomes too large
  return id < *count_ ? id : kNoNode;
}

void NodeIds::find(const IdValues& ids,
                   const IdPlace& place,
                   std::vector<std::uint64_t>& nodes,
                   ThreadArena& arena) const {
  nodes.resize(ids.size());
  std::atomic<bool> all_known = true;
  arena.for_ranges(ids.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    bool known = true;
    for (std::size_t i = begin; i < end; ++i) {
      nodes[i] = find_one(ids, i);
      known = known && nodes[i] != kNoNode;
    }
    if (!known) all_known = false;
  });
  if (all_known) return;
  const auto first = std::find(nodes.begin(), nodes.end(), kNoNode);
  fail_unknown(ids, static_cast<std::size_t>(first - nodes.begin()), place);
}

void NodeIds::fail_unknown(const IdValues& ids, std::size_t index, const IdPlace& place) const {
  check_usable(ids, index, place);
  std::string reason, hint;
  if (kind_ == IdKind::kDense) {
    reason = fmt::format("the id {} is out of range: type '{}' has {} nodes by {}",
                         ids.shown(index),
                         type_,
                         format_count(*count_),
                         count_from_);
    hint = "dense ids run from 0 to count - 1; for others say ids = \"integer\"";
  } else {
    reason = fmt::format("no node of type '{}' has the id {}", type_, ids.shown(index));
    hint = fmt::format("the ids are those of {}", count_from_);
  }
  throw place.table.value_error(place.first_row + index, place.column, reason, hint);
}

void NodeIds::write(DatasetWriter& writer) const {
  if (const auto* integers = std::get_if<IntegerIdMap>(&map_))
    writer.write(node_path(type_, "ids.bin"), integers->ids());
  if (const auto* strings = std::get_if<StringIdMap>(&map_)) {
    writer.write(node_path(type_, "ids.offsets.bin"), strings->offsets());
    writer.write(node_path(type_, "ids.bin"), strings->bytes());
  }
}

}  // namespace sluice
