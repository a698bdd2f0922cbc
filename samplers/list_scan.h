// ListScan: which in-edges of nodes are sampled where all targets share the numbers of their
// sources (LABOR). A node's whole list is looked at, a bounded piece of many lists at a time.
//
// Of a list of d edges, k to be drawn (all where d <= k), edge e from t weighing A(e):
// - exact count: the k with the least r(t) / A(e): sequential Poisson sampling (Ohlsson 1998).
// - poisson (LABOR-0): each with r(t) <= k A(e) / sum of A, on its own: k in the mean, maybe none.
// Equal numbers (edges from one source) go by position. What is taken of a list is a function of
// the numbers and the list alone: neither pieces, other targets nor their order matter. Memory is
// bounded by a piece and k. Called by BlockSampler. Not thread-safe.
#pragma once

#include "samplers/source_numbers.h"
#include "samplers/weighted_positions.h"

#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/choose_positions.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// How edges are drawn by numbers of their sources.
struct SharedDraws {
  SourceNumbers numbers;
  enum class Count : std::uint8_t { kExact, kPoisson } count = Count::kExact;
  /// Nodes of a higher degree draw for themselves and are not looked through; 0: none do.
  std::uint64_t hub_degree = 0;
};

class ListScan {
 public:
  struct Request {
    std::span<const std::uint64_t> targets = {};
    std::span<const EdgeRange> ranges = {};  ///< theirs
    std::span<const float> weights = {};     ///< by position; empty: edges are alike
    std::size_t fanout = 1;
    SharedDraws draws;
    RandomKey key{0};  ///< of those that draw for themselves; folded with the target's id
  };

  /// What the request refers to must stay until the last piece is taken. `counts` (one a target)
  /// are the edges taken so far. Errors: kResource.
  Result<void> begin(const Request& request, std::span<std::int64_t> counts, MemoryLedger* ledger);
  /// Edges of the next piece that have to be looked at; 0: there are no more. At most `most`, but
  /// those that a node draws for itself stay together.
  std::size_t next_piece(std::size_t most);
  /// Whether another piece follows; it may have no edges.
  bool more() const { return next_.target < request_.targets.size(); }
  /// Fills in where they are.
  void choose(std::span<std::uint64_t> positions);
  /// Looks at the nodes that the topology has there. Errors: kResource.
  Result<void> take(std::span<const std::uint64_t> sources);
  /// Edges that the last piece added, by target, then by position.
  std::span<const std::uint64_t> sources() const { return kept_sources_.first(kept_); }
  std::span<const std::uint64_t> positions() const { return kept_positions_.first(kept_); }
  std::uint64_t workspace_bytes() const {
    return workspace_of(heap_, chooser_, weighted_, targets_, kept_sources_, kept_positions_);
  }

 private:
  // The next edge to be looked at: a target, and how many of its edges are behind.
  struct Place {
    std::size_t target = 0;
    std::uint64_t behind = 0;
  };
  // Edges of one target in a piece.
  struct Stretch {
    std::size_t target = 0;
    std::uint64_t first = 0;  // of those looked at
    std::size_t count = 0;
    bool ends = false;  // the last is the target's last
  };
  enum class Rule : std::uint8_t { kAll, kOwn, kLeast, kBelow };
  // The list that is being looked at.
  struct List {
    Rule rule = Rule::kAll;
    double chance = 0;     // of an edge of weight 1, by kBelow
    std::size_t held = 0;  // in the heap
  };
  struct Entry {
    double at;
    std::uint64_t position;
    std::uint64_t source;
    bool operator<(const Entry& other) const {
      return at != other.at ? at < other.at : position < other.position;
    }
  };

  std::span<const float> weights_of(std::size_t target) const;
  std::uint64_t there(std::size_t target) const;
  bool draws_own(std::size_t target) const;
  std::uint64_t looked_at(std::size_t target) const;
  template <class Use>
  void for_each_stretch(Use use) const;
  Result<void> make_room();
  List begin_list(std::size_t target) const;
  void look(const Stretch& stretch, std::span<const std::uint64_t> sources);
  void race(const Stretch& stretch, std::span<const std::uint64_t> sources);
  void keep(std::size_t target, std::uint64_t position, std::uint64_t source);
  void keep_held(std::size_t target);

  Request request_;
  std::span<std::int64_t> counts_;
  MemoryLedger* ledger_ = nullptr;
  Place first_;  // of the piece
  Place next_;   // after it
  List list_;
  std::span<const std::uint64_t> chosen_;  // positions of the piece
  ChargedBuffer<Entry> heap_;              // the largest on top
  PositionChooser chooser_;
  WeightedChooser weighted_;
  std::size_t kept_ = 0;
  ChargedBuffer<std::uint64_t> targets_;  // where any draws on its own
  ChargedBuffer<std::uint64_t> kept_sources_;
  ChargedBuffer<std::uint64_t> kept_positions_;
};

}  // namespace sluice
