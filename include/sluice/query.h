// Queries: what a task asks of one mini-batch; QuerySource: where they come from. Torch-free.
//
// A query is about nodes: one node, the ends of a link, the nodes of a graph. The distinct nodes
// that a mini-batch's queries name, by type, are its seeds, and a query keeps the rows of its nodes
// among the seeds of their type: the first rows of BatchNodes, and the rows that Model::encode
// gives. So a node that many queries name is sampled and encoded once.
//
// Queries may have times: then what is distinct is a node at a time, so a node is among the seeds
// as often as it is asked about at different times, and what came later is not seen.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

enum class QueryKind : std::uint8_t {
  kNodes,  ///< a node each
  kLinks,  ///< a source and a destination each, maybe with other destinations beside it
  kGraphs  ///< all nodes of a graph each
};

/// What is asked, q queries. Empty arrays: of another kind, or not asked.
struct Queries {
  QueryKind kind = QueryKind::kNodes;
  std::size_t relation = 0;          ///< of links: index into GraphSchema::relations
  std::size_t type = 0;              ///< node type of `nodes`, of links' `sources`
  std::size_t destination_type = 0;  ///< of links
  /// u64 [q]: what labels are looked up by: dense node ids, edge ids, numbers of graphs; empty for
  /// links that are no edges of the graph.
  Array ids;
  Array times;         ///< i64 [q]: when each is asked, in ticks of the dataset; empty: not by time
  Array nodes;         ///< i64 [q], of graphs [nodes]: rows among the seeds of `type`
  Array offsets;       ///< i64 [q + 1], of graphs: where each one's `nodes` begin
  Array sources;       ///< i64 [q]: rows
  Array destinations;  ///< i64 [q]: rows among the seeds of `destination_type`
  /// i64 [q, k]: rows of destinations that make no link with the source; -1: none was found.
  Array negatives;
  Array truth;  ///< u8 [q]: 0 of an example that is no link; empty: all are
  /// i64 [ceil(q / chunk), k]: rows of destinations that `chunk` queries share: those of query i
  /// are row i / chunk. Whether one makes a link with a source was not looked at.
  Array shared;
  Array shared_sources;    ///< the same of sources, where these are of another type
  std::int64_t chunk = 0;  ///< 0: nothing is shared

  std::int64_t size() const {
    if (kind == QueryKind::kLinks) return sources.numel();
    return kind == QueryKind::kNodes ? nodes.numel() : offsets.numel() - (offsets.empty() ? 0 : 1);
  }
};

/// Edges of one relation by their ends: dense ids, u64 [n] each.
struct EdgePairs {
  std::size_t relation = 0;  ///< index into GraphSchema::relations
  Array sources;
  Array targets;
};

/// A place among events, which are ordered by (time, edge id).
struct TemporalCut {
  std::int64_t time = 0;
  std::uint64_t event = 0;  ///< edge id
};

/// The queries of a mini-batch with its seeds.
struct QueryBatch {
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;  ///< key of the draws; the batch's number unless rounds are shared
  std::uint64_t index = 0;  ///< the batch's number in its epoch
  /// By node type: u64 [n], distinct, or distinct together with what stands beside them below;
  /// empty for types without.
  std::vector<Array> seeds;
  Queries queries;
  std::vector<EdgePairs> excluded{};  ///< edges that its blocks must not have
  /// Of queries with times, by node type: i64 [n], when each seed is asked about.
  std::vector<Array> seed_times{};
  /// u64 [n]: the edge id of the event that each seed belongs to, where the sampler wants it.
  std::vector<Array> seed_events{};
  /// Of queries with times: the first of them. What came before it is of earlier mini-batches,
  /// where queries come in the order of time.
  std::optional<TemporalCut> cut{};
};

/// Where queries come from: a pure function (epoch, index) -> queries, so that an epoch may be
/// begun anywhere and shared out by number. Thread-safe.
class QuerySource {
 public:
  virtual ~QuerySource() = default;

  /// Mini-batches an epoch.
  virtual std::uint64_t num_batches() const = 0;
  /// Queries an epoch.
  virtual std::uint64_t num_queries() const = 0;
  /// Arrays are charged to `ledger` as "batches"; null: nothing is. Errors: kResource, and what a
  /// topology fails with. @pre index < num_batches()
  virtual Result<QueryBatch> batch(std::uint64_t epoch,
                                   std::uint64_t index,
                                   MemoryLedger* ledger) const = 0;
};

/// The seeds of a mini-batch, by node type, maybe with times and events; borrowed.
class SeedLists {
 public:
  SeedLists() = default;
  /// Of one type.
  template <class Ids>
  requires std::convertible_to<const Ids&, std::span<const std::uint64_t>> SeedLists(
      const Ids& ids, std::size_t type = 0)
      : lists_(type + 1) {
    lists_[type].ids = std::span<const std::uint64_t>(ids);
  }
  /// As QueryBatch::seeds.
  explicit SeedLists(const std::vector<Array>& seeds);
  explicit SeedLists(const QueryBatch& batch);

  std::size_t num_types() const { return lists_.size(); }
  /// None for a type beyond num_types().
  std::span<const std::uint64_t> of(std::size_t type) const {
    return type < lists_.size() ? lists_[type].ids : std::span<const std::uint64_t>();
  }
  /// When each is asked about; none where nobody asks by time.
  std::span<const std::int64_t> times_of(std::size_t type) const {
    return type < lists_.size() ? lists_[type].times : std::span<const std::int64_t>();
  }
  /// QueryBatch::seed_events.
  std::span<const std::uint64_t> events_of(std::size_t type) const {
    return type < lists_.size() ? lists_[type].events : std::span<const std::uint64_t>();
  }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const List& list : lists_) sum += list.ids.size();
    return sum;
  }

 private:
  struct List {
    std::span<const std::uint64_t> ids;
    std::span<const std::int64_t> times;
    std::span<const std::uint64_t> events;
  };

  std::vector<List> lists_;
};

}  // namespace sluice
