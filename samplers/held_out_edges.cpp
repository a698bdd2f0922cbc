#include "samplers/held_out_edges.h"

#include <sluice/samplers/edge_scan.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kTargetsAtOnce = std::uint64_t{1} << 16;

// Numbers that grow one by one, charged as they do.
class Column {
 public:
  explicit Column(MemoryLedger* ledger) : ledger_(ledger) {}

  Result<void> add(std::uint64_t value) {
    if (count_ == static_cast<std::size_t>(array_.numel())) {
      if (auto grown = resize(std::max<std::size_t>(2 * count_, 1024)); !grown) return grown;
    }
    array_.as<std::uint64_t>()[count_++] = value;
    return {};
  }
  /// As many as were added.
  Result<Array> take() {
    if (count_ == 0) return Array::make(DType::kU64, {0}, ledger_, kName);
    if (auto shrunk = resize(count_); !shrunk) return std::move(shrunk).error();
    return std::move(array_);
  }

 private:
  static constexpr const char* kName = "held-out edges";

  Result<void> resize(std::size_t count) {
    auto made = Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger_, kName);
    if (!made) return std::move(made).error();
    if (count_ != 0)
      std::copy_n(std::as_const(array_).as<std::uint64_t>().begin(),
                  count_,
                  made.value().as<std::uint64_t>().begin());
    array_ = std::move(made).value();
    return {};
  }

  MemoryLedger* ledger_;
  Array array_;
  std::size_t count_ = 0;
};

// The links of one part.
struct Columns {
  explicit Columns(MemoryLedger* ledger) : sources(ledger), targets(ledger), ids(ledger) {}
  Result<void> add(std::uint64_t source, std::uint64_t target, std::uint64_t id) {
    if (auto added = sources.add(source); !added) return added;
    if (auto added = targets.add(target); !added) return added;
    return ids.add(id);
  }
  Result<void> take(LinkArrays& to) {
    for (auto [column, array] : {std::pair{&sources, &to.sources},
                                 std::pair{&targets, &to.targets},
                                 std::pair{&ids, &to.ids}}) {
      auto taken = column->take();
      if (!taken) return std::move(taken).error();
      *array = std::move(taken).value();
    }
    return {};
  }
  Column sources, targets, ids;
};

struct Search {
  Topology& topology;
  const EdgeRule& rule;
  MemoryLedger* ledger;
  Column positions;
  Columns valid, test;

  Result<void> look_at(const EdgeScan::Piece& piece, std::span<const std::uint64_t> targets) {
    std::vector<std::uint64_t> ids;
    if (rule.needs_edge_ids()) {
      ids.resize(piece.positions.size());
      if (auto found = topology.edge_ids(piece.positions, ids); !found) return found;
    }
    std::vector<std::size_t> held;  // places in the piece
    std::vector<Part> parts;
    for (std::size_t i = 0; i < piece.positions.size(); ++i) {
      const Part part =
          rule.part(piece.sources[i], targets[piece.targets[i]], ids.empty() ? 0 : ids[i]);
      if (part == Part::kTrain) continue;
      held.push_back(i);
      parts.push_back(part);
    }
    // Ids that the rule did not need are asked for all at once: on disk each read would wait alone.
    std::vector<std::uint64_t> at(held.size()), own(held.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      at[i] = piece.positions[held[i]];
      own[i] = ids.empty() ? 0 : ids[held[i]];
    }
    if (ids.empty() && !held.empty()) {
      if (auto found = topology.edge_ids(at, own); !found) return found;
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (auto added = positions.add(at[i]); !added) return added;
      if (parts[i] == Part::kNone) continue;
      Columns& columns = parts[i] == Part::kValid ? valid : test;
      const std::uint64_t target = targets[piece.targets[held[i]]];
      if (auto added = columns.add(piece.sources[held[i]], target, own[i]); !added) return added;
    }
    return {};
  }
};

// A rule, and no part for training edges beside those which it holds out.
class WithoutTwins final : public EdgeRule {
 public:
  WithoutTwins(const EdgeRule& rule, const HeldOutEdges& found, MemoryLedger* ledger)
      : rule_(rule), found_(found.valid, found.test, ledger) {}
  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override {
    const Part own = rule_.part(source, target, edge_id);
    if (own != Part::kTrain) return own;
    if (found_.of(source, target) != Part::kTrain) return Part::kNone;
    if (rule_.twins() == Twins::kSameEnds) return own;
    return found_.of(target, source) == Part::kTrain ? own : Part::kNone;
  }
  bool needs_edge_ids() const override { return rule_.needs_edge_ids(); }

 private:
  const EdgeRule& rule_;
  PairParts found_;
};

Result<HeldOutEdges> find_once(Topology& topology, const EdgeRule& rule, MemoryLedger* ledger) {
  Search search{topology, rule, ledger, Column(ledger), Columns(ledger), Columns(ledger)};
  EdgeScan scan;
  std::vector<std::uint64_t> targets;
  for (std::uint64_t first = 0; first < topology.num_targets(); first += kTargetsAtOnce) {
    targets.resize(std::min(kTargetsAtOnce, topology.num_targets() - first));
    std::iota(targets.begin(), targets.end(), first);
    if (auto begun = scan.begin({.topology = &topology, .targets = targets}, ledger); !begun)
      return std::move(begun).error();
    for (;;) {
      auto piece = scan.next();
      if (!piece) return std::move(piece).error();
      if (piece.value().empty()) break;
      if (auto looked = search.look_at(piece.value(), targets); !looked)
        return std::move(looked).error();
    }
  }
  HeldOutEdges found;
  auto positions = search.positions.take();
  if (!positions) return std::move(positions).error();
  found.positions = std::move(positions).value();
  if (auto taken = search.valid.take(found.valid); !taken) return std::move(taken).error();
  if (auto taken = search.test.take(found.test); !taken) return std::move(taken).error();
  return found;
}

}  // namespace

Result<HeldOutEdges> find_held_out(Topology& topology, const EdgeRule& rule, MemoryLedger* ledger) {
  auto found = find_once(topology, rule, ledger);
  if (!found) return found;
  if (auto checked = rule.check(found.value()); !checked) return std::move(checked).error();
  const bool none = found.value().valid.ids.empty() && found.value().test.ids.empty();
  if (none || rule.twins() == Twins::kStay) return found;
  try {
    const WithoutTwins alone(rule, found.value(), ledger);
    found.value() = {};  // all is listed anew: both lists at once would be the most that is held
    return find_once(topology, alone, ledger);
  } catch (const Error& error) {
    return error;
  }
}

PairParts::PairParts(const LinkArrays& valid, const LinkArrays& test, MemoryLedger* ledger) {
  const auto count = static_cast<std::size_t>(valid.sources.numel() + test.sources.numel());
  if (ledger != nullptr)
    charge_ = ledger->charge("held-out edges", count * sizeof(Listed)).or_throw();
  listed_.reserve(count);
  add(valid, Part::kValid);
  add(test, Part::kTest);
  std::ranges::sort(listed_);
}

void PairParts::add(const LinkArrays& links, Part part) {
  if (links.sources.empty()) return;
  const auto sources = links.sources.as<std::uint64_t>();
  const auto targets = links.targets.as<std::uint64_t>();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!links.truth.empty() && links.truth.as<std::uint8_t>()[i] == 0) continue;
    listed_.push_back({sources[i], targets[i], part});
  }
}

Part PairParts::of(std::uint64_t source, std::uint64_t target) const {
  const auto at = std::ranges::lower_bound(listed_, Listed{source, target, Part::kTrain});
  if (at == listed_.end() || at->source != source || at->target != target) return Part::kTrain;
  return at->part;
}

DrawnEdges::DrawnEdges(std::array<double, 3> shares, Ends ends, RandomKey key)
    : shares_(shares), ends_(ends), key_(key) {}

Part DrawnEdges::part(std::uint64_t source, std::uint64_t target, std::uint64_t) const {
  if (ends_ == Ends::kEither && source > target) std::swap(source, target);
  const double drawn = key_.with(source).with(target).uniform(0);
  if (drawn < shares_[0]) return Part::kTrain;
  return drawn < shares_[0] + shares_[1] || shares_[2] == 0 ? Part::kValid : Part::kTest;
}

ListedEdges::ListedEdges(SplitEdgeIds ids, std::string name, Twins twins)
    : ids_(std::move(ids)), name_(std::move(name)), twins_(twins) {
  for (Array* list : {&ids_.train, &ids_.valid, &ids_.test}) {
    if (list->empty()) continue;
    const auto listed = list->as<std::uint64_t>();
    std::ranges::sort(listed);
    last_ = std::max(last_, listed.back());
  }
}

Part ListedEdges::part(std::uint64_t, std::uint64_t, std::uint64_t edge_id) const {
  const auto has = [edge_id](const Array& list) {
    return !list.empty() && std::ranges::binary_search(list.as<std::uint64_t>(), edge_id);
  };
  if (has(ids_.valid)) return Part::kValid;
  if (has(ids_.test)) return Part::kTest;
  return ids_.train.empty() || edge_id > last_ || has(ids_.train) ? Part::kTrain : Part::kNone;
}

Result<void> ListedEdges::check(const HeldOutEdges& found) const {
  for (const auto& [part, list, links] : {std::tuple{"valid", &ids_.valid, &found.valid},
                                          std::tuple{"test", &ids_.test, &found.test}}) {
    if (list->empty()) continue;
    const auto there = std::as_const(links->ids).as<std::uint64_t>();
    std::vector<std::uint64_t> ids(there.begin(), there.end());
    std::ranges::sort(ids);
    for (const std::uint64_t id : std::as_const(*list).as<std::uint64_t>()) {
      if (std::ranges::binary_search(ids, id)) continue;
      return Error(ErrorCode::kData,
                   fmt::format("{}, part {}: there is no edge {}", name_, part, id),
                   "the split must name edges that the dataset has: prepare both again from the "
                   "same files");
    }
  }
  return {};
}

ListedPairs::ListedPairs(const LinkArrays& valid,
                         const LinkArrays& test,
                         Twins twins,
                         MemoryLedger* ledger)
    : pairs_(valid, test, ledger), twins_(twins) {}

Part ListedPairs::part(std::uint64_t source, std::uint64_t target, std::uint64_t) const {
  const Part own = pairs_.of(source, target);
  if (own != Part::kTrain || twins_ != Twins::kEitherWay) return own;
  return pairs_.of(target, source) == Part::kTrain ? Part::kTrain : Part::kNone;
}

}  // namespace sluice
