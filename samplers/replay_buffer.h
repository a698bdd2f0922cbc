// ReplayBuffer: some old nodes, and the old queries of training that are about them, which are
// asked again beside new ones so that what they taught is not forgotten.
//
// It knows numbers of queries alone: links by their places in a list, nodes by theirs. A query
// weighs what its nodes stand for together, and mini-batches draw by weight, so that the mean loss
// over what is drawn stands for that over all old nodes. Immutable: any number of threads may draw.
// Torch-free.
#pragma once

#include "samplers/replay_choice.h"

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <span>

namespace sluice {

enum class ReplayRule {
  kNone,      ///< no buffer
  kUniform,   ///< any old node alike
  kStructure  ///< those that leave every old node few hops from one of them
};

struct ReplayOptions {
  ReplayRule rule = ReplayRule::kUniform;
  std::uint64_t nodes = 0;  ///< to be kept; fewer where there are fewer
  RandomKey key{1};
};

class ReplayBuffer {
 public:
  /// Of links: their ends are the nodes, and a query is about both. Nodes are numbered with those
  /// of the sources' type first. Charged to `ledger` as "replay": 16 bytes a kept link and 8 a
  /// node; while it is made also 24 a node, and by structure what ReplayGraph and
  /// choose_by_structure() take.
  /// @param num_nodes of both types @param destinations the number of their type's first node: 0
  /// where both ends are of one type. Errors: kResource, and what the links fail with.
  static Result<ReplayBuffer> of_links(const Links& old,
                                       std::uint64_t num_nodes,
                                       std::uint64_t destinations,
                                       const ReplayOptions& options,
                                       MemoryLedger* ledger);

  /// Of nodes: each is a query of its own. @param old their numbers, distinct @param pass over the
  /// edges of a graph of `num_nodes`, by which structure is told. Charges and errors as above.
  static Result<ReplayBuffer> of_nodes(std::span<const std::uint64_t> old,
                                       std::uint64_t num_nodes,
                                       const EdgePass& pass,
                                       const ReplayOptions& options,
                                       MemoryLedger* ledger);

  std::uint64_t old_nodes() const { return old_nodes_; }
  std::uint64_t old_queries() const { return old_queries_; }
  /// Numbers of the nodes that are kept, ascending.
  std::span<const std::uint64_t> nodes() const { return nodes_.as<std::uint64_t>(); }
  /// Numbers of the queries about them, ascending.
  std::span<const std::uint64_t> queries() const { return queries_.as<std::uint64_t>(); }
  /// What the query at a place of queries() weighs.
  std::uint64_t weight(std::size_t place) const {
    const auto ends = ends_.as<std::uint64_t>();
    return ends[place] - (place == 0 ? 0 : ends[place - 1]);
  }

  /// Numbers of old queries, ascending, by weight: a systematic sample, so that each is there as
  /// often as its share of `out` says, rounded up or down, and exactly so on average. Repeats are
  /// queries that weigh much. By (key, epoch, index) alone. @pre queries() are not empty
  void draw(std::uint64_t epoch, std::uint64_t index, std::span<std::uint64_t> out) const;

 private:
  explicit ReplayBuffer(RandomKey key) : key_(key) {}

  /// @param weights u64 [nodes]: 0 of a node that is not kept
  Result<void> keep_nodes(const ReplayChoice& choice, Array& weights, MemoryLedger* ledger);
  template <class EachQuery>
  Result<void> keep_queries(const EachQuery& each_query, MemoryLedger* ledger);

  RandomKey key_;
  std::uint64_t old_nodes_ = 0, old_queries_ = 0;
  Array nodes_;    // u64 [k]
  Array queries_;  // u64 [m]
  Array ends_;     // u64 [m]: sums of weights up to and with each
};

}  // namespace sluice
