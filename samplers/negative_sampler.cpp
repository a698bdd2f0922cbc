#include <sluice/samplers/negative_sampler.h>

#include "samplers/edge_lookup.h"
#include "samplers/topology_access.h"

#include <sluice/no_node.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kMaxSlots = 0x7fffffff;

Error no_such_end(std::string_view end, std::uint64_t node, const NodeTypeSchema& type) {
  return Error(ErrorCode::kData,
               fmt::format("the {} {} of a positive edge is no node: type '{}' has {}",
                           end,
                           node,
                           type.name,
                           format_count(type.count)));
}

}  // namespace

void NegativeSamplerOptions::describe(Schema& schema) {
  schema.field("count", count).help("negatives a positive edge").range(1, 1e6);
  schema.field("filtered", filtered)
      .help("never an edge that the graph has; costs the in-degrees of what is drawn");
  schema.field("tries", tries)
      .help("draws a negative at most; where all were refused it is missing, and counted")
      .range(1, 1e6);
}

// One call's state: negatives are looked for all together, so that a topology on disk is asked for
// much at once.
struct NegativeSampler::Search {
  Negatives found;
  std::size_t open = 0;  // the first so many draws have yet to find a node
  ChargedBuffer<Draw> draws;
  ChargedBuffer<std::uint64_t> sources, targets;  // of draws that are looked up
  ChargedBuffer<std::uint8_t> refused;
  EdgeLookup lookup;
  MemoryLedger* ledger = nullptr;
};

NegativeSampler::NegativeSampler(SamplerGraph graph, Options options, RandomKey key)
    : graph_(std::move(graph)),
      relations_(resolve_relations(graph_)),
      options_(options),
      key_(key) {
  if (options.count < 1 || options.tries < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} negatives in {} tries are none", options.count, options.tries),
                "set count and tries to 1 or more");
  }
}

const NodeTypeSchema& NegativeSampler::destination_type(std::size_t relation) const {
  return graph_.schema->nodes[relations_[relation].target_type];
}

Result<Negatives> NegativeSampler::sample(const NegativeRequest& request,
                                          MemoryLedger* ledger) const {
  if (auto checked = check_positives(request); !checked) return std::move(checked).error();
  Search search;
  search.ledger = ledger;
  if (auto begun = begin(request, search); !begun) return std::move(begun).error();
  const auto tries = static_cast<std::uint64_t>(options_.tries);
  for (std::uint64_t attempt = 0; attempt < tries && search.open != 0; ++attempt) {
    propose(request, attempt, search.draws.first(search.open));
    if (auto refused = refuse(request, search); !refused) return std::move(refused).error();
  }
  search.found.missing = search.open;
  return std::move(search.found);
}

Result<void> NegativeSampler::check_positives(const NegativeRequest& request) const {
  if (request.relation >= relations_.size() ||
      request.sources.size() != request.destinations.size()) {
    return Error(ErrorCode::kInternal,
                 fmt::format("{} sources and {} destinations of relation {} are no positive edges",
                             request.sources.size(),
                             request.destinations.size(),
                             request.relation));
  }
  const auto& nodes = graph_.schema->nodes;
  const NodeTypeSchema& source_type = nodes[relations_[request.relation].source_type];
  for (const std::uint64_t node : request.sources) {
    if (node >= source_type.count) return no_such_end("source", node, source_type);
  }
  const NodeTypeSchema& type = destination_type(request.relation);
  for (const std::uint64_t node : request.destinations) {
    if (node >= type.count) return no_such_end("destination", node, type);
  }
  if (request.sources.size() > kMaxSlots / static_cast<std::size_t>(options_.count)) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} negatives for each of {} positives are too many at once",
                             options_.count,
                             format_count(request.sources.size())),
                 "lower the batch size or the negatives a positive");
  }
  if (request.sources.empty()) return {};
  return check(request);
}

Result<void> NegativeSampler::begin(const NegativeRequest& request, Search& search) const {
  const auto count = static_cast<std::size_t>(options_.count);
  const std::size_t slots = request.sources.size() * count;
  auto nodes = Array::make(DType::kU64,
                           {static_cast<std::int64_t>(request.sources.size()), options_.count},
                           search.ledger,
                           "batches");
  if (!nodes) return std::move(nodes).error();
  search.found.nodes = std::move(nodes).value();
  const auto out = search.found.nodes.as<std::uint64_t>();
  std::fill(out.begin(), out.end(), kNoNode);
  if (auto room = search.draws.ensure_exactly(slots, search.ledger); !room) return room;
  if (auto room = search.refused.ensure_exactly(slots, search.ledger); !room) return room;
  if (options_.filtered) {
    if (auto room = search.sources.ensure_exactly(slots, search.ledger); !room) return room;
    if (auto room = search.targets.ensure_exactly(slots, search.ledger); !room) return room;
  }
  const RandomKey key =
      key_.with("negatives").with(request.epoch).with(request.round).with(request.relation);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const std::size_t i = slot / count;
    search.draws.data()[slot] = {
        key.with(request.sources[i]).with(request.destinations[i]).with(slot % count),
        0,
        static_cast<std::uint32_t>(slot)};
  }
  search.open = slots;
  return {};
}

// Keeps the nodes that may stand; the other draws stay open.
Result<void> NegativeSampler::refuse(const NegativeRequest& request, Search& search) const {
  const auto draws = search.draws.first(search.open);
  const auto refused = search.refused.first(search.open);
  const auto count = static_cast<std::size_t>(options_.count);
  std::fill(refused.begin(), refused.end(), std::uint8_t{0});
  if (options_.filtered) {
    for (std::size_t i = 0; i < draws.size(); ++i) {
      search.sources.data()[i] = request.sources[draws[i].slot / count];
      search.targets.data()[i] = draws[i].node;
    }
    auto looked = search.lookup.find(*relations_[request.relation].topology,
                                     search.sources.first(draws.size()),
                                     search.targets.first(draws.size()),
                                     refused,
                                     search.ledger);
    if (!looked) return looked;
  }
  const auto out = search.found.nodes.as<std::uint64_t>();
  std::size_t left = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const Draw draw = draws[i];
    if (refused[i] != 0 || draw.node == request.destinations[draw.slot / count]) {
      draws[left++] = draw;
    } else {
      out[draw.slot] = draw.node;
    }
  }
  search.found.redrawn += left;
  search.open = left;
  return {};
}

UniformNegatives::UniformNegatives(SamplerGraph graph,
                                   Options options,
                                   RandomKey key,
                                   MemoryLedger*)
    : NegativeSampler(std::move(graph), options, key) {}

Result<void> UniformNegatives::check(const NegativeRequest&) const {
  return {};  // there is the true destination at least
}

void UniformNegatives::propose(const NegativeRequest& request,
                               std::uint64_t attempt,
                               std::span<Draw> draws) const {
  const NodeRange all{0, destination_type(request.relation).count};
  const std::span<const NodeRange> among =
      request.among.empty() ? std::span(&all, 1) : request.among;
  const std::uint64_t count = count_of(among);
  for (Draw& draw : draws) draw.node = node_at(among, draw.key.below(count, attempt));
}

DegreeNegatives::DegreeNegatives(SamplerGraph graph,
                                 Options options,
                                 RandomKey key,
                                 MemoryLedger* ledger)
    : NegativeSampler(std::move(graph), options, key), tables_(graph_.schema->nodes.size()) {
  for (const SampledRelation& relation : relations_) {
    AliasTable& table = tables_[relation.target_type];
    if (table.empty()) table = make_table(relation.target_type, ledger).or_throw();
  }
}

Result<AliasTable> DegreeNegatives::make_table(std::size_t type, MemoryLedger* ledger) const {
  constexpr std::size_t kAtOnce = 4096;
  const std::uint64_t count = graph_.schema->nodes[type].count;
  auto made =
      Array::make(DType::kF64, {static_cast<std::int64_t>(count)}, ledger, "negative sampling");
  if (!made) return std::move(made).error();
  const auto weights = made.value().as<double>();
  std::fill(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint64_t> nodes(kAtOnce);
  std::vector<EdgeRange> ranges(kAtOnce);
  for (const SampledRelation& relation : relations_) {
    if (relation.target_type != type) continue;
    for (std::uint64_t first = 0; first < count; first += kAtOnce) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, count - first));
      for (std::size_t i = 0; i < some; ++i) nodes[i] = first + i;
      auto located = locate(*relation.topology, {nodes.data(), some}, {ranges.data(), some});
      if (!located) return std::move(located).error();
      for (std::size_t i = 0; i < some; ++i)
        weights[first + i] += static_cast<double>(ranges[i].degree());
    }
  }
  // Roots are the same bits on every machine, which powers need not be.
  for (double& weight : weights) weight = std::sqrt(weight) * std::sqrt(std::sqrt(weight));
  return AliasTable::make(weights, ledger, "negative sampling");
}

Result<void> DegreeNegatives::check(const NegativeRequest& request) const {
  if (!request.among.empty())
    return Error(ErrorCode::kUsage,
                 "nodes are drawn by their degrees from all of their type, not from a part of them",
                 "draw uniform negatives");
  if (!tables_[relations_[request.relation].target_type].empty()) return {};
  return Error(ErrorCode::kData,
               fmt::format("no edge leads to nodes of type '{}', so none is drawn by its degree",
                           destination_type(request.relation).name),
               "draw uniform negatives");
}

void DegreeNegatives::propose(const NegativeRequest& request,
                              std::uint64_t attempt,
                              std::span<Draw> draws) const {
  const AliasTable& table = tables_[relations_[request.relation].target_type];
  for (Draw& draw : draws) draw.node = table.draw(draw.key, attempt);
}

InBatchNegatives::InBatchNegatives(SamplerGraph graph,
                                   Options options,
                                   RandomKey key,
                                   MemoryLedger*)
    : NegativeSampler(std::move(graph), options, key) {}

Result<void> InBatchNegatives::check(const NegativeRequest&) const {
  return {};  // a batch of one destination has none to draw: all are missing
}

void InBatchNegatives::propose(const NegativeRequest& request,
                               std::uint64_t attempt,
                               std::span<Draw> draws) const {
  const auto destinations = request.destinations;
  for (Draw& draw : draws) draw.node = destinations[draw.key.below(destinations.size(), attempt)];
}

}  // namespace sluice
