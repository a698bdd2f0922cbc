#include "probe/plain_graph.h"

#include "core/interrupt.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace sluice::probe {
namespace {

constexpr const char* kGraphLedger = "probe graph";
constexpr std::uint64_t kTargetsAtOnce = 4096;

// Edges of one relation, target by target.
void visit_relation(Topology& topology, const PlainGraph::Visitor& visit) {
  std::vector<std::uint64_t> targets, positions, sources;
  std::vector<EdgeRange> ranges;
  for (std::uint64_t first = 0; first < topology.num_targets(); first += kTargetsAtOnce) {
    throw_if_interrupted();
    targets.resize(std::min(kTargetsAtOnce, topology.num_targets() - first));
    std::iota(targets.begin(), targets.end(), first);
    ranges.resize(targets.size());
    topology.ranges(targets, ranges).or_throw();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (ranges[i].degree() == 0) continue;
      positions.resize(ranges[i].degree());
      sources.resize(positions.size());
      std::iota(positions.begin(), positions.end(), ranges[i].begin);
      topology.neighbours(positions, sources).or_throw();
      for (const std::uint64_t source : sources) visit(source, targets[i]);
    }
  }
}

}  // namespace

PlainGraph::PlainGraph(std::uint64_t nodes, const Edges& edges, MemoryLedger* ledger) {
  if (nodes > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorCode::kUsage,
                fmt::format("{} nodes are too many for a graph in memory", nodes),
                "measure clusters alone, without --floors: all else goes by it");
  const auto list = [&](DType dtype, std::uint64_t size) {
    return Array::make(dtype, {static_cast<std::int64_t>(size)}, ledger, kGraphLedger).or_throw();
  };
  offsets_ = list(DType::kU64, nodes + 1);
  const auto ends = offsets_.as<std::uint64_t>();
  std::ranges::fill(ends, std::uint64_t{0});
  // ends[v + 1] counts v's, then is where v's list ends.
  edges([&](std::uint64_t a, std::uint64_t b) {
    if (a == b) return;
    ++ends[a + 1];
    ++ends[b + 1];
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  neighbours_ = list(DType::kU32, ends.back());
  Array filled = list(DType::kU64, nodes);
  const auto at = filled.as<std::uint64_t>();
  std::copy(ends.begin(), ends.end() - 1, at.begin());
  const auto all = neighbours_.as<std::uint32_t>();
  edges([&](std::uint64_t a, std::uint64_t b) {
    if (a == b) return;
    all[at[a]++] = static_cast<std::uint32_t>(b);
    all[at[b]++] = static_cast<std::uint32_t>(a);
  });
  std::uint64_t kept = 0, begin = 0;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const auto own = all.subspan(begin, ends[node + 1] - begin);
    begin = ends[node + 1];
    std::ranges::sort(own);
    const auto last = std::unique(own.begin(), own.end());
    // Lists move to the front only, over what was read already.
    kept += static_cast<std::uint64_t>(
        std::copy(own.begin(), last, all.begin() + static_cast<std::ptrdiff_t>(kept)) -
        (all.begin() + static_cast<std::ptrdiff_t>(kept)));
    ends[node + 1] = kept;
  }
}

PlainGraph PlainGraph::of(const Dataset& dataset, std::string_view node_type) {
  const NodeTypeSchema* const type = dataset.schema().node_type(node_type);
  if (type == nullptr)
    throw Error(ErrorCode::kUsage,
                fmt::format("the dataset has no node type '{}'", node_type),
                "sluice-prep inspect shows its types");
  const auto all = [&](const Visitor& visit) {
    for (const RelationSchema& relation : dataset.schema().relations) {
      if (relation.source != node_type || relation.target != node_type) continue;
      visit_relation(*dataset.topology(relation.key()), visit);
    }
  };
  return {type->count, all, dataset.ledger()};
}

std::span<const std::uint32_t> PlainGraph::neighbours(std::uint64_t node) const {
  const auto ends = offsets_.as<std::uint64_t>();
  return neighbours_.as<std::uint32_t>().subspan(ends[node], ends[node + 1] - ends[node]);
}

bool PlainGraph::linked(std::uint64_t a, std::uint64_t b) const {
  return std::ranges::binary_search(neighbours(a), static_cast<std::uint32_t>(b));
}

}  // namespace sluice::probe
