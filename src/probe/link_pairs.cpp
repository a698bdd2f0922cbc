#include "probe/link_pairs.h"

#include "core/interrupt.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::probe {
namespace {

using torch::Tensor;
using NodePair = std::pair<std::uint64_t, std::uint64_t>;

constexpr const char* kHoldOutHint =
    "make one before pre-training: sluice-prep hold-out DATASET --out DIR, train on DIR, and name "
    "it here";

NodePair ordered(std::uint64_t a, std::uint64_t b) {
  return {std::min(a, b), std::max(a, b)};
}

// i64 [count, 2], filled from the front: the ledger knows of tensors.
class PairList {
 public:
  explicit PairList(std::uint64_t count)
      : pairs_(torch::empty({static_cast<std::int64_t>(count), 2}, torch::kInt64)),
        next_(pairs_.data_ptr<std::int64_t>()) {}

  void add(const NodePair& pair) {
    *next_++ = static_cast<std::int64_t>(pair.first);
    *next_++ = static_cast<std::int64_t>(pair.second);
  }
  const Tensor& all() const { return pairs_; }

 private:
  Tensor pairs_;
  std::int64_t* next_;
};

// Pairs of different nodes of a PlainGraph, below 2^32: open addressing within a tensor.
class PairSet {
 public:
  explicit PairSet(std::uint64_t most)
      : mask_(std::bit_ceil(2 * most + 2) - 1),
        cells_(torch::full({static_cast<std::int64_t>(mask_ + 1)}, kFree, torch::kInt64)) {}

  /// Whether it was not there.
  bool insert(const NodePair& pair) {
    auto* const cells = cells_.data_ptr<std::int64_t>();
    const std::uint64_t bits = pair.first << 32 | pair.second;
    for (std::uint64_t at = RandomKey(bits).draw(0) & mask_;; at = (at + 1) & mask_) {
      if (cells[at] == static_cast<std::int64_t>(bits)) return false;
      if (cells[at] != kFree) continue;
      cells[at] = static_cast<std::int64_t>(bits);
      return true;
    }
  }

 private:
  static constexpr std::int64_t kFree = -1;  // the last node with itself

  std::uint64_t mask_;
  Tensor cells_;
};

// The split that is meant.
EdgeSplit open_split(const Dataset& dataset, const std::string& wanted, std::string& name) {
  std::vector<std::string> apart;
  for (const EdgeSplitSchema& split : dataset.schema().edge_splits)
    if (split.relation.empty()) apart.push_back(split.name);
  if (wanted.empty() && apart.size() != 1)
    throw Error(ErrorCode::kUsage,
                fmt::format("the dataset has {} splits of links that stand apart from its edges",
                            apart.size()),
                apart.empty() ? kHoldOutHint : "choose one: --link-split NAME",
                Place{dataset.path(), -1, -1, -1});
  name = wanted.empty() ? apart.front() : wanted;
  EdgeSplit split = dataset.edge_split(name);
  if (!split.relation.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("split '{}' holds edges of the graph that rows are learned from", name),
                kHoldOutHint,
                Place{dataset.path(), -1, -1, -1});
  return split;
}

// A part's rows as pairs, by label.
class PartReader {
 public:
  PartReader(const Dataset& dataset, std::string_view node_type, std::string split)
      : dataset_(dataset), node_type_(node_type), split_(std::move(split)) {}

  LinkPairs read(const Array& part, const char* name, const PlainGraph& graph, RandomKey key) {
    const auto cells = part.as<std::uint64_t>();
    std::uint64_t num_links = 0, leaked = 0;
    for (std::size_t at = 0; at + 5 <= cells.size(); at += 5) num_links += cells[at + 4] != 0;
    const std::uint64_t num_others = cells.size() / 5 - num_links;
    PairList links(num_links), others(num_others);
    for (std::size_t at = 0; at + 5 <= cells.size(); at += 5) {
      const EdgeSplit::Row row{
          cells[at], cells[at + 1], cells[at + 2], cells[at + 3], cells[at + 4]};
      check(row, graph.nodes());
      (row.label != 0 ? links : others).add(ordered(row.source, row.target));
      if (row.label != 0 && graph.linked(row.source, row.target)) ++leaked;
    }
    if (leaked != 0)
      throw Error(
          ErrorCode::kData,
          fmt::format("split '{}': {} of the {} links of its {} part are edges of the graph",
                      split_,
                      leaked,
                      num_links,
                      name),
          kHoldOutHint,
          Place{dataset_.path(), -1, -1, -1});
    LinkPairs pairs{links.all(), others.all()};
    if (num_others == 0)
      pairs.negatives = draw_unlinked(graph, pairs.positives, num_links, key.with(name));
    return pairs;
  }

 private:
  void check(const EdgeSplit::Row& row, std::uint64_t nodes) const {
    const auto& relations = dataset_.schema().relations;
    const bool ours = row.relation < relations.size() &&
                      relations[row.relation].source == node_type_ &&
                      relations[row.relation].target == node_type_;
    if (!ours)
      throw Error(ErrorCode::kUsage,
                  fmt::format("split '{}' has links between other nodes than those of type '{}'",
                              split_,
                              node_type_),
                  "embeddings of one type tell of links within it",
                  Place{dataset_.path(), -1, -1, -1});
    if (row.source < nodes && row.target < nodes) return;
    throw Error(
        ErrorCode::kData,
        fmt::format(
            "split '{}' names node {} of {}", split_, std::max(row.source, row.target), nodes),
        "sluice-prep verify says what is damaged",
        Place{dataset_.path(), -1, -1, -1});
  }

  const Dataset& dataset_;
  std::string node_type_, split_;
};

}  // namespace

HeldOutPairs read_held_out(const Dataset& dataset,
                           std::string_view node_type,
                           const std::string& wanted,
                           const PlainGraph& graph,
                           RandomKey key) {
  HeldOutPairs held_out;
  const EdgeSplit split = open_split(dataset, wanted, held_out.split);
  PartReader reader(dataset, node_type, held_out.split);
  const RandomKey drawn = key.with("held-out pairs");
  held_out.valid = reader.read(split.valid, "valid", graph, drawn);
  held_out.test = reader.read(split.test, "test", graph, drawn);
  if (held_out.test.positives.size(0) == 0)
    throw Error(ErrorCode::kUsage,
                fmt::format("split '{}' holds no link to test by", held_out.split),
                kHoldOutHint,
                Place{dataset.path(), -1, -1, -1});
  return held_out;
}

LinkPairs training_pairs(const PlainGraph& graph, std::uint64_t most, RandomKey key) {
  const double kept =
      static_cast<double>(most) / static_cast<double>(std::max(most, graph.pairs()));
  const RandomKey drawn = key.with("training pairs");
  const auto each_link = [&](const auto& visit) {
    for (std::uint64_t node = 0; node < graph.nodes(); ++node) {
      if (node % 65536 == 0) throw_if_interrupted();
      for (const std::uint32_t other : graph.neighbours(node))
        if (node < other && (kept >= 1 || drawn.with(node).uniform(other) < kept))
          visit(NodePair(node, other));
    }
  };
  std::uint64_t count = 0;
  each_link([&count](const NodePair&) { ++count; });
  PairList links(count);
  each_link([&links](const NodePair& pair) { links.add(pair); });
  return {links.all(), draw_unlinked(graph, torch::empty({0, 2}, torch::kInt64), count, key)};
}

Tensor draw_unlinked(const PlainGraph& graph,
                     const Tensor& except,
                     std::uint64_t count,
                     RandomKey key) {
  constexpr std::uint64_t kTriesEach = 1000;
  const std::uint64_t nodes = graph.nodes();
  PairSet taken(static_cast<std::uint64_t>(except.size(0)) + count);
  const Tensor listed = except.contiguous();
  const auto* const ends = listed.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < listed.size(0); ++i)
    (void)taken.insert(ordered(static_cast<std::uint64_t>(ends[2 * i]),
                               static_cast<std::uint64_t>(ends[2 * i + 1])));
  const RandomKey drawn = key.with("unlinked pairs");
  PairList pairs(count);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; found < count; ++i) {
    if (i % 65536 == 0) throw_if_interrupted();
    if (nodes < 2 || i >= kTriesEach * (count + 1))
      throw Error(ErrorCode::kData,
                  fmt::format("found {} of {} pairs of nodes without an edge", found, count),
                  "the graph links nearly all nodes: hold out fewer edges");
    const NodePair pair = ordered(drawn.below(nodes, 2 * i), drawn.below(nodes, 2 * i + 1));
    if (pair.first == pair.second || graph.linked(pair.first, pair.second)) continue;
    if (!taken.insert(pair)) continue;
    pairs.add(pair);
    ++found;
  }
  return pairs.all();
}

}  // namespace sluice::probe
