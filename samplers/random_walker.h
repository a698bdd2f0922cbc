// RandomWalker: walks from nodes along in-edges, backwards, uniform or with node2vec's bias (Grover
// and Leskovec, "node2vec: Scalable Feature Learning for Networks", 2016).
//
// A step from v takes one of v's in-edges, over all relations into its type, and goes to that
// edge's source: at first, and with p = q = 1, any edge alike; later an edge to x has the weight
// 1/p if x is where the walk came from (t), 1 if x is one step from t, walked this way (an edge
// leads from x to t), and 1/q otherwise. That is the paper's distance from t to x; the authors'
// code asks for a step from x to t, which is the same on undirected graphs. An edge that is there
// twice counts twice. To walk forwards, walk the reversed relations.
//
// The bias is drawn exactly, by rejection: an edge drawn alike is taken with weight / greatest
// weight, so a step takes on average at most max(1/p, 1, 1/q) / min(1/p, 1, 1/q) draws, and edges
// into t are looked up only where 1 and 1/q decide. A walk's draws are keyed by (key, epoch, round,
// seed's type, seed, walk, step): a walk is the same whoever walks beside it. Where it meets a node
// without in-edges it ends. All walks go step by step together, so that a topology on disk is asked
// for many positions at once. One walker a thread.
#pragma once

#include "samplers/edge_lookup.h"

#include <sluice/options.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/charged_buffer.h>

#include <cstdint>
#include <vector>

namespace sluice {

struct RandomWalkOptions {
  std::int64_t length = 4;  ///< steps a walk
  std::int64_t walks = 1;   ///< from each seed
  double p = 1;             ///< above 1: rarely straight back
  double q = 1;             ///< above 1: stays near, below 1: goes far

  void describe(Schema& schema);
};

class RandomWalker {
 public:
  using Options = RandomWalkOptions;

  struct Walks {
    Array nodes;  ///< u64 [seeds * walks, length + 1]: a seed's walks are rows beside each other,
                  ///< the seed first; kNoNode after the end
    Array types;  ///< i32, the same shape: the nodes' types; -1 after the end
  };

  /// @param key of the run's seed. Throws kUsage for options out of range, kInternal for a graph
  /// that does not match its schema.
  RandomWalker(SamplerGraph graph, Options options, RandomKey key);

  /// Walks from `request.seeds`, which may repeat. The arrays are charged to `ledger` as "batches",
  /// what is kept as "sampler workspace". Errors: kData (a seed that is no node), kResource, and
  /// what a topology fails with; the walker stays usable.
  Result<Walks> walk(const SampleRequest& request, MemoryLedger* ledger);
  std::uint64_t workspace_bytes() const { return workspace_.workspace_bytes(); }

 private:
  // A walk at a step.
  struct Step {
    RandomKey key{0};
    std::uint64_t num_edges = 0;  // to choose from, over all relations
    std::uint64_t position = 0;   // of the edge drawn
    std::uint64_t node = 0;       // its source
    double level = 0;             // what a weight must be above
    std::uint32_t walk = 0;       // the row of Walks
    std::uint32_t place = 0;      // in the order by type
    std::uint32_t type = 0;       // of the node it is at
    std::uint32_t relation = 0;   // of the edge drawn
  };
  // What is kept from call to call.
  struct Workspace {
    ChargedBuffer<Step> steps;             // those that have yet to take an edge
    ChargedBuffer<std::uint32_t> order;    // walks by their node's type
    ChargedBuffer<std::uint64_t> current;  // the nodes they are at, in that order
    ChargedBuffer<EdgeRange> ranges;       // a stretch a relation, see first_range_
    ChargedBuffer<std::uint64_t> positions, sources, targets;
    ChargedBuffer<std::uint8_t> near;  // by step: whether an edge leads to where it came from
    ChargedBuffer<std::uint8_t> found;
    ChargedBuffer<std::uint32_t> asked;  // steps that a question is for
    EdgeLookup lookup;

    std::uint64_t workspace_bytes() const {
      return workspace_of(
          steps, order, current, ranges, positions, sources, targets, near, found, asked, lookup);
    }
  };

  Result<void> make_room(std::size_t walks);
  Result<Walks> walk_all(const SampleRequest& request);
  Result<void> list_seeds(const SampleRequest& request, Walks& walks) const;
  Result<void> step(std::size_t at, const SampleRequest& request, Walks& walks);
  Result<void> locate_edges(std::size_t at, const Walks& walks);
  std::size_t begin_steps(std::size_t at, const SampleRequest& request, const Walks& walks);
  void draw_edges(std::size_t count, std::uint64_t attempt);
  Result<void> read_sources(std::size_t count);
  Result<void> find_near(std::size_t at, std::size_t count, const Walks& walks);
  Result<void> look_up(const SampledRelation& relation, std::size_t asked);
  std::size_t take_edges(std::size_t at, std::size_t count, Walks& walks);

  const EdgeRange& edges_at(const SampledRelation& relation, std::size_t place) const;
  bool open(const Step& step) const;
  std::size_t row_length() const { return static_cast<std::size_t>(options_.length) + 1; }
  bool biased(std::size_t at) const { return at > 0 && (options_.p != 1 || options_.q != 1); }

  SamplerGraph graph_;
  std::vector<SampledRelation> relations_;
  Options options_;
  double back_;      // 1/p
  double far_;       // 1/q
  double least_;     // of 1 and 1/q
  double greatest_;  // weight
  RandomKey key_;
  std::vector<std::size_t> first_place_;  // by type: its first in the order
  std::vector<std::size_t> first_range_;  // by relation
  Workspace workspace_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
