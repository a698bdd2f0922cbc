#include "samplers/snapshot/hotness.h"

#include "core/type_index.h"
#include "samplers/neighbor_sampler.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kPage = 4096;
// Edges that lie together are read together.
constexpr std::uint64_t kStretch = 1024;

// Sources of about `most` edges of a relation: all when there are no more.
Result<void> add_sources(Topology& topology,
                         std::uint64_t most,
                         NodeUses& uses,
                         MemoryLedger* ledger) {
  const std::uint64_t edges = topology.num_edges();
  const std::uint64_t stretches =
      most >= edges ? (edges + kStretch - 1) / kStretch : most / kStretch + 1;
  const std::uint64_t all = (edges + kStretch - 1) / kStretch;
  constexpr std::uint64_t kAtOnce = 256;  // stretches
  std::vector<std::uint64_t> positions, sources;
  for (std::uint64_t first = 0; first < stretches; first += kAtOnce) {
    positions.clear();
    for (std::uint64_t s = first; s < std::min(stretches, first + kAtOnce); ++s) {
      const auto begin = static_cast<std::uint64_t>(static_cast<unsigned __int128>(s) * all /
                                                    std::max<std::uint64_t>(stretches, 1)) *
                         kStretch;
      for (std::uint64_t at = begin; at < std::min(edges, begin + kStretch); ++at)
        positions.push_back(at);
    }
    sources.resize(positions.size());
    if (auto found = topology.neighbours(positions, sources); !found) return found;
    if (auto added = uses.add(sources, ledger); !added) return added;
  }
  return {};
}

// A node that may have a record.
struct Candidate {
  double worth;  // reads saved a byte
  std::uint64_t node;
  std::uint64_t bits;  // of its record
};

Result<void> find_worth(Topology& topology,
                        const SnapshotTopology::Setup& setup,
                        std::uint64_t fanout,
                        std::uint64_t uses,
                        Candidate& candidate) {
  EdgeRange range;
  if (auto found = topology.ranges({&candidate.node, 1}, {&range, 1}); !found) return found;
  const std::uint64_t id_bytes = size_of(node_id_dtype(topology.num_sources()));
  const std::uint64_t edges = SnapshotTopology::record_size(setup, range.degree());
  const std::uint64_t reads =
      std::min({1 + range.degree() * id_bytes / kPage, fanout, range.degree()});
  candidate.bits = 8 * edges * id_bytes + SnapshotRecords::kBitsARecord;
  candidate.worth =
      static_cast<double>(uses) * static_cast<double>(reads) / static_cast<double>(candidate.bits);
  return {};
}

// Sorts the uses and makes a candidate of each distinct node that has edges.
Result<std::size_t> find_candidates(Topology& topology,
                                    const SnapshotTopology::Setup& setup,
                                    std::uint64_t fanout,
                                    NodeUses& uses,
                                    ChargedBuffer<Candidate>& candidates) {
  const auto ids = uses.ids.first(uses.count);
  std::ranges::sort(ids);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) distinct += i == 0 || ids[i] != ids[i - 1];
  if (auto room = candidates.ensure(distinct, setup.ledger); !room) return std::move(room).error();
  std::size_t count = 0;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i;
    while (end < ids.size() && ids[end] == ids[i]) ++end;
    Candidate& candidate = candidates.data()[count];
    candidate.node = ids[i];
    if (auto found = find_worth(topology, setup, fanout, end - i, candidate); !found)
      return std::move(found).error();
    if (candidate.worth > 0) ++count;
    i = end;
  }
  return count;
}

}  // namespace

std::int64_t TrialBatches::most_edges() const {
  return method ? method->most_edges() : NeighborSamplerOptions{.fanout = fanout}.most_edges();
}

Result<void> NodeUses::add(std::span<const std::uint64_t> more, MemoryLedger* ledger) {
  if (auto room = ids.grow(count + more.size(), count, ledger); !room) return room;
  std::ranges::copy(more, ids.data() + count);
  count += more.size();
  return {};
}

Result<std::vector<NodeUses>> uses_by_degree(const SamplerGraph& graph,
                                             std::uint64_t most,
                                             MemoryLedger* ledger) {
  const GraphSchema& schema = *graph.schema;
  std::vector<NodeUses> uses(schema.nodes.size());
  std::uint64_t edges = 0;
  for (const auto& topology : graph.relations) edges += topology->num_edges();
  const double share = edges == 0 ? 1.0 : static_cast<double>(most) / static_cast<double>(edges);
  for (std::size_t r = 0; r < graph.relations.size(); ++r) {
    Topology& topology = *graph.relations[r];
    const std::uint64_t some =
        share >= 1 ? topology.num_edges()
                   : static_cast<std::uint64_t>(share * static_cast<double>(topology.num_edges()));
    NodeUses& of_type = uses.at(type_index(schema, schema.relations[r].source));
    if (auto added = add_sources(topology, some, of_type, ledger); !added)
      return std::move(added).error();
  }
  return uses;
}

Result<std::vector<NodeUses>> uses_by_look_ahead(const SamplerGraph& graph,
                                                 const TrialBatches& trials,
                                                 std::uint64_t most,
                                                 MemoryLedger* ledger) {
  std::vector<NodeUses> uses(graph.schema->nodes.size());
  const BlockParts parts{.transpose = false, .table_bytes = 0};
  const SamplerKind<NeighborSampler> plain({.fanout = trials.fanout});
  const SamplerMethod& method = trials.method ? *trials.method : plain;
  const std::unique_ptr<Sampler> sampler = method.make(graph, parts, trials.key);
  const std::uint64_t batches = trials.queries->num_batches();
  const std::uint64_t some = std::min(batches, kTrials);
  std::uint64_t met = 0;
  for (std::uint64_t i = 0; i < some && met < most; ++i) {
    const std::uint64_t index = i * batches / some;
    auto queries = trials.queries->batch(0, index, ledger);
    if (!queries) return std::move(queries).error();
    const QueryBatch& of_batch = queries.value();
    const SampleRequest request{0, of_batch.round, index, SeedLists(of_batch), of_batch.cut};
    auto batch = sampler->sample(request, ledger);
    if (!batch) return std::move(batch).error();
    for (std::size_t type = 0; type < uses.size(); ++type) {
      const BatchNodes& nodes = batch.value().nodes[type];
      // At each hop all nodes listed so far are asked.
      for (std::size_t layer = 1; layer < nodes.size_at.size(); ++layer) {
        const auto asked = static_cast<std::size_t>(nodes.size_at[layer]);
        if (auto added = uses[type].add(nodes.ids.as<std::uint64_t>().first(asked), ledger); !added)
          return std::move(added).error();
        met += asked;
      }
    }
  }
  return uses;
}

Result<std::vector<std::uint64_t>> choose_hot(Topology& topology,
                                              const SnapshotTopology::Setup& setup,
                                              std::uint64_t fanout,
                                              NodeUses& uses) {
  ChargedBuffer<Candidate> candidates;
  auto count = find_candidates(topology, setup, fanout, uses, candidates);
  if (!count) return std::move(count).error();
  const auto found = candidates.first(count.value());
  std::ranges::sort(
      found, {}, [](const Candidate& one) { return std::tuple(-one.worth, one.node); });
  // What arrays have beside their elements of each record: an end, and a mark's word.
  const std::uint64_t fixed = HotSet::bytes_of(topology.num_targets()) + 3 * sizeof(std::uint64_t);
  std::uint64_t left = 8 * (setup.capacity - std::min(setup.capacity, fixed));
  std::vector<std::uint64_t> hot;
  for (const Candidate& one : found) {
    if (one.bits > left) continue;
    left -= one.bits;
    hot.push_back(one.node);
  }
  std::ranges::sort(hot);
  return hot;
}

}  // namespace sluice
