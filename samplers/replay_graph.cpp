#include "samplers/replay_graph.h"

#include "core/type_index.h"

#include <sluice/graph_schema.h>
#include <sluice/samplers/edge_scan.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kEdgesAtOnce = 4096;

Result<Array> replay_numbers(std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "replay");
}

}  // namespace

Result<ReplayGraph> ReplayGraph::make(std::uint64_t num_nodes,
                                      const EdgePass& pass,
                                      MemoryLedger* ledger) {
  ReplayGraph graph;
  auto ends = replay_numbers(num_nodes, ledger);
  if (!ends) return std::move(ends).error();
  graph.ends_ = std::move(ends).value();
  const auto places = graph.ends_.as<std::uint64_t>();
  std::ranges::fill(places, std::uint64_t{0});
  const auto counted = pass([&](std::uint64_t one, std::uint64_t other) {
    ++places[one];
    ++places[other];
  });
  if (!counted) return std::move(counted).error();
  // Where lists begin; as they are filled that becomes where they end.
  std::uint64_t total = 0;
  for (std::uint64_t& place : places) place = std::exchange(total, total + place);
  auto lists = replay_numbers(total, ledger);
  if (!lists) return std::move(lists).error();
  graph.neighbours_ = std::move(lists).value();
  const auto neighbours = graph.neighbours_.as<std::uint64_t>();
  const auto filled = pass([&](std::uint64_t one, std::uint64_t other) {
    neighbours[places[one]++] = other;
    neighbours[places[other]++] = one;
  });
  if (!filled) return std::move(filled).error();
  return graph;
}

Result<void> for_each_link(
    const Links& links,
    const std::function<void(std::uint64_t number, std::uint64_t source, std::uint64_t target)>&
        visit) {
  std::array<std::uint64_t, kEdgesAtOnce> numbers{}, sources{}, targets{};
  for (std::uint64_t first = 0; first < links.size(); first += kEdgesAtOnce) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kEdgesAtOnce, links.size() - first));
    std::iota(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count), first);
    auto found =
        links.find({numbers.data(), count}, {{sources.data(), count}, {targets.data(), count}});
    if (!found) return found;
    for (std::size_t i = 0; i < count; ++i) visit(first + i, sources.at(i), targets.at(i));
  }
  return {};
}

EdgePass pass_over(const Links& links, std::uint64_t destinations) {
  return [&links, destinations](const EdgeVisit& visit) {
    return for_each_link(links,
                         [&](std::uint64_t /*number*/, std::uint64_t source, std::uint64_t target) {
                           visit(source, destinations + target);
                         });
  };
}

EdgePass pass_over(const SamplerGraph& graph,
                   std::vector<std::uint64_t> first,
                   MemoryLedger* ledger) {
  return [&graph, first = std::move(first), ledger](const EdgeVisit& visit) -> Result<void> {
    EdgeScan scan;
    std::array<std::uint64_t, kEdgesAtOnce> asked{};
    for (std::size_t relation = 0; relation < graph.relations.size(); ++relation) {
      const RelationSchema& schema = graph.schema->relations[relation];
      const std::uint64_t sources = first[type_index(*graph.schema, schema.source)];
      const std::uint64_t targets = first[type_index(*graph.schema, schema.target)];
      Topology& topology = *graph.relations[relation];
      for (std::uint64_t begin = 0; begin < topology.num_targets(); begin += kEdgesAtOnce) {
        const auto count = static_cast<std::size_t>(
            std::min<std::uint64_t>(kEdgesAtOnce, topology.num_targets() - begin));
        std::iota(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(count), begin);
        if (auto begun = scan.begin({&topology, {asked.data(), count}}, ledger); !begun)
          return begun;
        for (;;) {
          auto next = scan.next();
          if (!next) return std::move(next).error();
          const EdgeScan::Piece& piece = next.value();
          if (piece.empty()) break;
          for (std::size_t i = 0; i < piece.sources.size(); ++i)
            visit(sources + piece.sources[i], targets + begin + piece.targets[i]);
        }
      }
    }
    return {};
  };
}

}  // namespace sluice
