#include "prep/order/metis_order.h"

#include <metis.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace sluice {
namespace {

// A graph without directions, as METIS wants it: CSR, no self loops. Repeated edges are as many
// wishes to stay together.
struct Undirected {
  std::vector<idx_t> begins;
  std::vector<idx_t> neighbours;
};

Undirected gather(const OrderInput& input) {
  Undirected graph;
  graph.begins.assign(input.node.count + 1, 0);
  input.for_each_edge([&](std::uint64_t source, std::uint64_t target) {
    if (source == target) return;
    ++graph.begins[source + 1];
    ++graph.begins[target + 1];
  });
  for (std::uint64_t node = 0; node < input.node.count; ++node)
    graph.begins[node + 1] += graph.begins[node];
  graph.neighbours.resize(static_cast<std::size_t>(graph.begins.back()));
  std::vector<idx_t> next(graph.begins.begin(), graph.begins.end() - 1);
  const auto put = [&](std::uint64_t node, std::uint64_t neighbour) {
    graph.neighbours[static_cast<std::size_t>(next[node]++)] = static_cast<idx_t>(neighbour);
  };
  input.for_each_edge([&](std::uint64_t source, std::uint64_t target) {
    if (source == target) return;
    put(source, target);
    put(target, source);
  });
  return graph;
}

}  // namespace

void MetisOrder::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("of METIS's random choices");
  schema.field("size", size).help("nodes a part, about").range(1, 1e12);
}

IdArray MetisOrder::order(const OrderInput& input) {
  std::uint64_t edges = 0;
  for (const RelationSchema* relation : input.own_relations()) edges += relation->edges;
  const auto limit = static_cast<std::uint64_t>(std::numeric_limits<idx_t>::max());
  if (2 * edges > limit || input.node.count > limit) {
    throw Error(ErrorCode::kResource,
                fmt::format("METIS takes at most {} neighbours", limit),
                "use the order cluster");
  }
  MemoryLedger* const ledger = &input.context.ledger;
  // METIS's own coarser graphs take about as much as the graph again, and half of that.
  const Charge charge =
      ledger->charge("METIS", (2 * edges * 5 / 2 + input.node.count * 8) * sizeof(idx_t))
          .or_throw();
  auto num_nodes = static_cast<idx_t>(input.node.count);
  auto parts = static_cast<idx_t>(
      std::max<std::uint64_t>(1, input.node.count / static_cast<std::uint64_t>(options_.size)));
  std::vector<idx_t> part(input.node.count, 0);
  if (parts > 1) {
    Undirected graph = gather(input);
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = static_cast<idx_t>(options_.seed);
    idx_t constraints = 1;
    idx_t cut = 0;
    const int status = METIS_PartGraphKway(&num_nodes,
                                           &constraints,
                                           graph.begins.data(),
                                           graph.neighbours.data(),
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           &parts,
                                           nullptr,
                                           nullptr,
                                           options,
                                           &cut,
                                           part.data());
    if (status != METIS_OK) {
      throw Error(status == METIS_ERROR_MEMORY ? ErrorCode::kResource : ErrorCode::kInternal,
                  fmt::format("METIS failed with status {}", status),
                  "use the order cluster");
    }
  }
  IdArray key(input.node.count, input.node.count + 1, ledger, "node order");
  for (std::uint64_t node = 0; node < input.node.count; ++node)
    key.set(node, static_cast<std::uint64_t>(parts - part[node]));
  return sorted_by_key(key, ledger);
}

}  // namespace sluice
