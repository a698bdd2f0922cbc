#include "samplers/replay_buffer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice {
namespace {

Result<Array> kept_numbers(std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "replay");
}

Result<Array> zeroed_numbers(std::uint64_t count, MemoryLedger* ledger) {
  auto made = kept_numbers(count, ledger);
  if (made) std::ranges::fill(made.value().as<std::uint64_t>(), std::uint64_t{0});
  return made;
}

// The nodes that some link names, ascending.
Result<Array> named_nodes(const EdgePass& pass, std::uint64_t num_nodes, MemoryLedger* ledger) {
  auto named = zeroed_numbers(num_nodes, ledger);
  if (!named) return named;
  const auto marks = named.value().as<std::uint64_t>();
  const auto gone = pass([&](std::uint64_t one, std::uint64_t other) {
    marks[one] = 1;
    marks[other] = 1;
  });
  if (!gone) return std::move(gone).error();
  auto made =
      kept_numbers(static_cast<std::uint64_t>(std::ranges::count(marks, std::uint64_t{1})), ledger);
  if (!made) return made;
  const auto nodes = made.value().as<std::uint64_t>();
  for (std::uint64_t node = 0, at = 0; node < num_nodes; ++node)
    if (marks[node] != 0) nodes[at++] = node;
  return made;
}

Result<ReplayChoice> choose_nodes(std::span<const std::uint64_t> candidates,
                                  std::uint64_t num_nodes,
                                  const EdgePass& pass,
                                  const ReplayOptions& options,
                                  MemoryLedger* ledger) {
  const std::uint64_t count = options.rule == ReplayRule::kNone ? 0 : options.nodes;
  const RandomKey key = options.key.with("choice");
  if (options.rule != ReplayRule::kStructure)
    return choose_uniformly(candidates, count, key, ledger);
  auto graph = ReplayGraph::make(num_nodes, pass, ledger);
  if (!graph) return std::move(graph).error();
  return choose_by_structure(graph.value(), candidates, count, key, ledger);
}

}  // namespace

Result<ReplayBuffer> ReplayBuffer::of_links(const Links& old,
                                            std::uint64_t num_nodes,
                                            std::uint64_t destinations,
                                            const ReplayOptions& options,
                                            MemoryLedger* ledger) {
  const EdgePass pass = pass_over(old, destinations);
  auto candidates = named_nodes(pass, num_nodes, ledger);
  if (!candidates) return std::move(candidates).error();
  const auto nodes = std::as_const(candidates.value()).as<std::uint64_t>();
  auto chosen = choose_nodes(nodes, num_nodes, pass, options, ledger);
  if (!chosen) return std::move(chosen).error();
  ReplayBuffer buffer(options.key.with("draws"));
  buffer.old_nodes_ = nodes.size();
  buffer.old_queries_ = old.size();
  candidates = Array();
  auto weights = zeroed_numbers(num_nodes, ledger);
  if (!weights) return std::move(weights).error();
  if (auto kept = buffer.keep_nodes(chosen.value(), weights.value(), ledger); !kept)
    return std::move(kept).error();
  const auto of = std::as_const(weights.value()).as<std::uint64_t>();
  const auto each_link = [&](const auto& take) {
    return for_each_link(old,
                         [&](std::uint64_t number, std::uint64_t source, std::uint64_t target) {
                           const std::uint64_t other = destinations + target;
                           take(number, of[source] + (other == source ? 0 : of[other]));
                         });
  };
  if (auto kept = buffer.keep_queries(each_link, ledger); !kept) return std::move(kept).error();
  return buffer;
}

Result<ReplayBuffer> ReplayBuffer::of_nodes(std::span<const std::uint64_t> old,
                                            std::uint64_t num_nodes,
                                            const EdgePass& pass,
                                            const ReplayOptions& options,
                                            MemoryLedger* ledger) {
  auto chosen = choose_nodes(old, num_nodes, pass, options, ledger);
  if (!chosen) return std::move(chosen).error();
  ReplayBuffer buffer(options.key.with("draws"));
  buffer.old_nodes_ = old.size();
  buffer.old_queries_ = old.size();
  auto weights = zeroed_numbers(num_nodes, ledger);
  if (!weights) return std::move(weights).error();
  if (auto kept = buffer.keep_nodes(chosen.value(), weights.value(), ledger); !kept)
    return std::move(kept).error();
  const auto of = std::as_const(weights.value()).as<std::uint64_t>();
  const auto each_node = [&](const auto& take) -> Result<void> {
    for (std::size_t i = 0; i < old.size(); ++i) take(i, of[old[i]]);
    return {};
  };
  if (auto kept = buffer.keep_queries(each_node, ledger); !kept) return std::move(kept).error();
  return buffer;
}

Result<void> ReplayBuffer::keep_nodes(const ReplayChoice& choice,
                                      Array& weights,
                                      MemoryLedger* ledger) {
  const auto chosen = choice.nodes.as<std::uint64_t>();
  const auto stands = choice.weights.as<std::uint64_t>();
  const auto of = weights.as<std::uint64_t>();
  for (std::size_t i = 0; i < chosen.size(); ++i) of[chosen[i]] = stands[i];
  auto made = kept_numbers(chosen.size(), ledger);
  if (!made) return std::move(made).error();
  nodes_ = std::move(made).value();
  const auto nodes = nodes_.as<std::uint64_t>();
  std::ranges::copy(chosen, nodes.begin());
  std::ranges::sort(nodes);
  return {};
}

// Twice: to count them, and to keep them.
template <class EachQuery>
Result<void> ReplayBuffer::keep_queries(const EachQuery& each_query, MemoryLedger* ledger) {
  std::uint64_t count = 0;
  auto counted = each_query(
      [&](std::uint64_t /*number*/, std::uint64_t weight) { count += weight == 0 ? 0u : 1u; });
  if (!counted) return counted;
  for (Array* array : {&queries_, &ends_}) {
    auto made = kept_numbers(count, ledger);
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
  }
  const auto queries = queries_.as<std::uint64_t>(), ends = ends_.as<std::uint64_t>();
  std::uint64_t place = 0, sum = 0;
  return each_query([&](std::uint64_t number, std::uint64_t weight) {
    if (weight == 0) return;
    queries[place] = number;
    ends[place++] = sum += weight;
  });
}

// Places on the line of all weights, as far from each other as there are to be, from a start that
// is drawn.
void ReplayBuffer::draw(std::uint64_t epoch,
                        std::uint64_t index,
                        std::span<std::uint64_t> out) const {
  const auto queries = queries_.as<std::uint64_t>(), ends = ends_.as<std::uint64_t>();
  const std::uint64_t sum = ends.back();
  const std::uint64_t start = key_.with(epoch).below(sum, index);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * sum + start) / out.size());
    out[i] = queries[static_cast<std::size_t>(std::ranges::upper_bound(ends, at) - ends.begin())];
  }
}

}  // namespace sluice
