// Finds the edges of a relation that an EdgeRule keeps from training.
#pragma once

#include <sluice/edge_rule.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/topology.h>

#include <array>
#include <compare>  // IWYU pragma: keep, of operator<=>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Goes through all edges once, in their order, or twice for EdgeRule::twins. The lists
/// are charged as "held-out edges", 32 bytes an edge. Errors: kResource, what the topology fails
/// with, and what EdgeRule::check finds.
Result<HeldOutEdges> find_held_out(Topology& topology, const EdgeRule& rule, MemoryLedger* ledger);

/// The parts of links, by their ends.
class PairParts {
 public:
  /// Charged as "held-out edges". Throws kResource.
  PairParts(const LinkArrays& valid, const LinkArrays& test, MemoryLedger* ledger);
  /// kTrain of a link that is in neither.
  Part of(std::uint64_t source, std::uint64_t target) const;

 private:
  struct Listed {
    std::uint64_t source, target;
    Part part;
    auto operator<=>(const Listed&) const = default;
  };
  void add(const LinkArrays& links, Part part);

  Charge charge_;
  std::vector<Listed> listed_;  // ascending
};

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

/// Edge ids of a split, u64 [n] each, in any order.
struct SplitEdgeIds {
  Array train;  ///< empty: all that are in no other part
  Array valid, test;
};

/// Parts by lists of edge ids. What is in no list is in no part; but ids above all that are listed
/// came later, and are for training.
class ListedEdges final : public EdgeRule {
 public:
  /// @param name of the split, for messages @param twins EdgeRule::twins
  ListedEdges(SplitEdgeIds ids, std::string name, Twins twins);

  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override;
  bool needs_edge_ids() const override { return true; }
  Twins twins() const override { return twins_; }
  Result<void> check(const HeldOutEdges& found) const override;

 private:
  SplitEdgeIds ids_;  // ascending
  std::uint64_t last_ = 0;
  std::string name_;
  Twins twins_;
};

/// Parts by the ends of links that are listed; what is not listed is for training.
class ListedPairs final : public EdgeRule {
 public:
  /// Examples of no link are passed over. Throws kResource. @param twins kEitherWay: a training
  /// edge that leads back along a listed one is in no part
  ListedPairs(const LinkArrays& valid, const LinkArrays& test, Twins twins, MemoryLedger* ledger);

  Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const override;

 private:
  PairParts pairs_;
  Twins twins_;
};

}  // namespace sluice
