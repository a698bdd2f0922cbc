// NeighborSampler: in-edges drawn hop by hop over any number of node types and relations
// (GraphSAGE: Hamilton, Ying, Leskovec 2017): uniformly or by weight, without replacement or with,
// or all.
//
// At each hop every node listed so far is a target anew, and draws its own edges of each relation;
// with `draw_once` only those that the hop before listed draw, and the others keep what they have.
// The draws of a node are keyed by (key, epoch, round, hop, relation, node) alone, or by its
// sources (LaborSampler). One sampler a thread.
#pragma once

#include "samplers/block_sampler.h"

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/batch_builder.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Another fanout for one relation.
struct RelationFanout {
  std::string relation;              ///< RelationSchema::key(), or its name where one has it
  std::vector<std::int64_t> fanout;  ///< one number a layer

  void describe(Schema& schema);
};

struct NeighborSamplerOptions {
  /// Edges drawn a node and relation, one number a layer, the first next to the seeds; -1: all, 0:
  /// none. Batches grow by about the product. Empty: seeds only.
  std::vector<std::int64_t> fanout{15, 10};
  bool replace = false;   ///< with replacement: an edge may come twice, any node with edges has all
  bool weighted = false;  ///< by the weights of edges; uniformly in relations without
  /// Successive mini-batches of an epoch that draw alike: a node's edges are the same in all.
  std::int64_t dependence = 1;
  /// A node draws when it is first listed, and has these edges in all layers that it is written in:
  /// the first layer's blocks hold all edges, as of one subgraph.
  bool draw_once = false;
  std::vector<RelationFanout> relations = {};
  SnapshotOptions snapshot = {};

  void describe(Schema& schema);
  std::size_t num_layers() const { return fanout.size(); }
  bool needs_weights() const { return weighted; }
  std::int64_t most_edges() const;
};

/// How edges are drawn where all targets of a layer share their sources' numbers: LaborSampler.
struct LayerDraws {
  SharedDraws::Count count = SharedDraws::Count::kExact;
  std::uint64_t hub_degree = 0;  ///< SharedDraws::hub_degree
  bool all_layers = false;       ///< layers share them too
};

class NeighborSampler final : public Sampler {
 public:
  using Options = NeighborSamplerOptions;

  /// @param key of the run's seed
  /// @param layer_draws none: each target draws on its own; else successive mini-batches' numbers
  /// pass slowly from some to others, Options::dependence mini-batches a passage. Throws kUsage for
  /// a fanout below -1, a relation that is not there, and weights where there are none; kInternal
  /// for a graph that does not match its schema.
  NeighborSampler(const SamplerGraph& graph,
                  Options options,
                  BlockParts parts,
                  RandomKey key,
                  std::optional<LayerDraws> layer_draws = std::nullopt);
  NeighborSampler(const NeighborSampler&) = delete;
  NeighborSampler& operator=(const NeighborSampler&) = delete;

  std::size_t num_layers() const override { return options_.fanout.size(); }
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override { return workspace_of(builder_, blocks_, open_); }
  NeighborSampler* by_hops() override { return this; }

  // The same in steps, for GroupSampler: begin(); for each hop begin_hop(), the relations,
  // end_hop(); then finish(). A relation is sample_relation(), or begin_relation() and the steps of
  // blocks() but finish(): any number of relations may be open so, but sources are taken, and
  // relations sampled, in the schema's order. After an error: begin() or reset().

  Result<void> begin(const SampleRequest& request, MemoryLedger* ledger);
  void begin_hop(std::size_t hop);
  Result<void> sample_relation(std::size_t relation);
  Result<void> begin_relation(std::size_t relation);
  /// Of a relation that was begun in this hop.
  BlockSampler& blocks(std::size_t relation) { return open_[relation]; }
  Result<void> end_hop();
  Result<Batch> finish();
  /// Drops a batch that was begun.
  void reset();

 private:
  // Of the batch that was begun.
  struct Begun {
    RandomKey round_key{0};
    RandomKey next_round_key{0};  // of the next period of dependent mini-batches
    double passed = 0;            // share of the period that is behind
    std::size_t hop = 0;
    std::vector<std::size_t> num_targets;  // by node type: those listed before the hop
    std::vector<Block> blocks;             // of the hop, by relation
    std::vector<std::size_t> open;         // relations whose blocks are still being made
  };

  void check_options(const SamplerGraph& graph) const;
  std::vector<std::int64_t> fanout_of(const RelationSchema& relation) const;
  Result<void> end_relations();
  Result<Batch> sample_whole(const SampleRequest& request, MemoryLedger* ledger);
  BlockSampler::Request block_request(std::size_t relation) const;
  // Of the hop before, where its targets draw no more.
  const Block* kept_block(std::size_t relation) const;
  SharedDraws shared_draws(std::size_t source_type) const;

  Options options_;
  std::optional<LayerDraws> layer_draws_;
  RandomKey key_;
  std::vector<BlockSampler::Relation> relations_;
  std::vector<std::vector<std::int64_t>> fanouts_;  // by relation
  BatchBuilder builder_;
  BlockSampler blocks_;             // of relations that are sampled one by one
  std::vector<BlockSampler> open_;  // by relation: of those that are open together
  Begun begun_;
  MemoryLedger* ledger_ = nullptr;  // of the scratch and of the batch being made
};

}  // namespace sluice
