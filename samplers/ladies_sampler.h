// LadiesSampler: layer by layer, a fixed number of nodes drawn for the whole batch by importance
// (LADIES: Zou, Hu, Wang, Jiang, Sun, Gu, "Layer-Dependent Importance Sampling for Training Deep
// and Large Graph Convolutional Networks", 2019).
//
// For each layer, from the seeds on: candidates are the in-neighbours of the frontier (all nodes
// listed so far). A candidate u of a type weighs w(u) = sum over relations from that type and over
// targets v of the frontier of P(v, u)^2, where P is the relation's adjacency with rows that sum to
// 1: P(v, u) = edges from u to v / in-degree of v. So many of a type are drawn one after the other
// without replacement, each with probability w(u) over the weights left, by exponential races
// (Efraimidis and Spirakis 2006) keyed by (key, epoch, round, hop, type, node): no order matters.
// The layer's blocks hold all edges from the drawn nodes and the frontier itself to the frontier.
//
// What consumers get: a mean over a block's edges is LADIES' row normalisation of the sampled
// adjacency. What they do not get from Batch: the paper weighs the edge from u by 1 / p(u), p = w /
// sum of w, before it normalises; without it likely nodes count for more than in the full mean.
// sample_weighted() gives p. Frontier rows are kept whether drawn or not, as the authors' code
// does. A sum over edges is not de-biased at all: too small by what was not drawn.
//
// A batch costs the sum of its frontiers' in-degrees, twice, on disk too. Any number of node types
// and relations; a type's nodes are drawn among themselves. One sampler a thread.
#pragma once

#include "samplers/induced_subgraph.h"

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/edge_scan.h>

#include <cstdint>
#include <vector>

namespace sluice {

struct LadiesSamplerOptions {
  /// Nodes drawn of each node type, one number a layer, the first next to the seeds. A batch grows
  /// by their sum, not by a product. Empty: seeds only.
  std::vector<std::int64_t> nodes{512, 512};

  void describe(Schema& schema);
  std::size_t num_layers() const { return nodes.size(); }
};

/// A batch and how likely its source rows were.
struct LadiesBatch {
  Batch batch;
  /// [layer][type]: f64 [size_at[layer]], each row's p as above; 0 for rows that no edge leaves.
  std::vector<std::vector<Array>> probabilities;
};

class LadiesSampler final : public Sampler {
 public:
  using Options = LadiesSamplerOptions;

  /// @param key of the run's seed. Throws kUsage for a negative number of nodes, kInternal for a
  /// graph that does not match its schema.
  LadiesSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key);
  LadiesSampler(const LadiesSampler&) = delete;
  LadiesSampler& operator=(const LadiesSampler&) = delete;

  std::size_t num_layers() const override { return options_.nodes.size(); }
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override {
    return workspace_of(
        builder_, workspace_.scan, workspace_.induced, workspace_.candidates, workspace_.race);
  }
  /// The same batch with its probabilities, charged as "batches" too.
  Result<LadiesBatch> sample_weighted(const SampleRequest& request, MemoryLedger* ledger);

 private:
  struct Candidate {
    double weight = 0;
    std::uint64_t target = 0;  // relation and target that its last edge led to, from 1
    std::uint64_t edges = 0;   // that led there so far
  };
  struct Arrival {
    double time = 0;
    std::uint32_t candidate = 0;
  };
  // Of one type.
  struct Candidates {
    NodeTable table;
    ChargedBuffer<Candidate> rows;
    double total_weight = 0;

    std::uint64_t workspace_bytes() const { return workspace_of(table, rows); }
  };
  struct Workspace {
    EdgeScan scan;
    InducedSubgraph induced;
    std::vector<Candidates> candidates;  // by type
    ChargedBuffer<Arrival> race;
  };
  using Probabilities = std::vector<std::vector<Array>>;

  Result<Batch> sample_whole(const SampleRequest& request, Probabilities* probabilities);
  Result<void> sample_layer(std::size_t layer, RandomKey key, Probabilities* probabilities);
  Result<void> weigh_candidates(const SampledRelation& relation);
  void weigh(const EdgeScan::Piece& piece, std::size_t relation, Candidates& candidates);
  Result<void> draw(std::size_t type, std::uint64_t count, RandomKey key);
  Result<void> make_blocks(std::size_t layer);
  Result<std::vector<Array>> note_probabilities();

  Options options_;
  RandomKey key_;
  BatchBuilder builder_;
  Workspace workspace_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
