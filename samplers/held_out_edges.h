// Finds the edges of a relation that an EdgeRule keeps from training.
#pragma once

#include <sluice/edge_rule.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/topology.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace sluice {

/// Goes through all edges once, in their order, or twice for EdgeRule::takes_reverses. The lists
/// are charged as "held-out edges", 32 bytes an edge. Errors: kResource, and what the topology
/// fails with.
Result<HeldOutEdges> find_held_out(Topology& topology, const EdgeRule& rule, MemoryLedger* ledger);

/// Draws each edge's part by shares, from a key and its ends alone: the parts have about as many
/// edges as the shares say, and edges of the same ends are in one part.
class DrawnEdges final : public EdgeRule {
 public:
  /// Whether (a, b) and (b, a) are in one part: between nodes of one type.
  enum class Ends { kOrdered, kEither };

  /// @param shares of train, valid and test, which sum to 1 @param key of the run's seed and the
  /// relation
  DrawnEdges(std::array<double, 3> shares, Ends ends, RandomKey key);

  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override;

 private:
  std::array<double, 3> shares_;
  Ends ends_;
  RandomKey key_;
};

/// The same the other way round, for the relation that holds each edge reversed.
class ReversedEdges final : public EdgeRule {
 public:
  explicit ReversedEdges(std::shared_ptr<const EdgeRule> rule) : rule_(std::move(rule)) {}
  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override {
    return rule_->part(target, source, edge_id);
  }

 private:
  std::shared_ptr<const EdgeRule> rule_;
};

/// Parts by lists of edge ids; what is in neither is for training.
class ListedEdges final : public EdgeRule {
 public:
  /// @param valid, test u64 [n]: ids, in any order @param reverses EdgeRule::takes_reverses
  ListedEdges(Array valid, Array test, bool reverses);

  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override;
  bool needs_edge_ids() const override { return true; }
  bool takes_reverses() const override { return reverses_; }

 private:
  Array valid_, test_;  // ascending
  bool reverses_;
};

}  // namespace sluice
