// NegativeSampler: for positive edges (u, r, v), other destinations of r's destination type.
//
// Implemented by UniformNegatives, DegreeNegatives (word2vec's unigram^0.75: Mikolov et al. 2013,
// over in-degrees) and InBatchNegatives. Never the true destination; with `filtered` never the
// destination of an edge (u, r, .) that the graph has. Draws are with replacement, keyed by (key,
// epoch, round, relation, u, v, number of the negative, attempt): an edge's negatives are the same
// whoever is beside it in the batch, and a positive that is there twice gets the same ones twice.
// In-batch negatives come from the batch, so they depend on it by their nature. Thread-safe: one
// sampler serves all threads.
#pragma once

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/alias_table.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/link_order.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

struct NegativeSamplerOptions {
  std::int64_t count = 1;  ///< negatives a positive
  /// Never an edge that the graph has. Costs the in-degrees of what is drawn, on disk too.
  bool filtered = false;
  /// Draws a negative at most; where all were refused it is missing, which is reported.
  std::int64_t tries = 16;

  void describe(Schema& schema);
};

/// Positive edges of one relation.
struct NegativeRequest {
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;
  std::size_t relation = 0;  ///< index into GraphSchema::relations
  std::span<const std::uint64_t> sources;
  std::span<const std::uint64_t> destinations;
  /// What is drawn from; none: all nodes. Of uniform draws and those in the batch.
  std::span<const NodeRange> among = {};
};

struct Negatives {
  Array nodes;  ///< u64 [positives, count]; kNoNode where none was found
  std::uint64_t missing = 0;
  std::uint64_t redrawn = 0;  ///< draws that were refused
};

class NegativeSampler {
 public:
  using Options = NegativeSamplerOptions;

  virtual ~NegativeSampler() = default;
  NegativeSampler(const NegativeSampler&) = delete;
  NegativeSampler& operator=(const NegativeSampler&) = delete;

  /// The array is charged to `ledger` as "batches", scratch as "sampler workspace" while it runs;
  /// null: nothing is charged. Errors: kResource, kData (a positive whose ends are no nodes;
  /// nothing to draw from), and what a topology fails with.
  Result<Negatives> sample(const NegativeRequest& request, MemoryLedger* ledger) const;

 protected:
  // A negative that is looked for.
  struct Draw {
    RandomKey key{0};
    std::uint64_t node = 0;  // what was drawn
    std::uint32_t slot = 0;  // in Negatives::nodes
  };

  /// Throws kUsage for options out of range, kInternal for a graph that does not match its schema.
  NegativeSampler(SamplerGraph graph, Options options, RandomKey key);

  /// Whether there is anything to draw from.
  virtual Result<void> check(const NegativeRequest& request) const = 0;
  /// Draws a node for each, from its key and `attempt` alone.
  virtual void propose(const NegativeRequest& request,
                       std::uint64_t attempt,
                       std::span<Draw> draws) const = 0;

  const NodeTypeSchema& destination_type(std::size_t relation) const;

  SamplerGraph graph_;
  std::vector<SampledRelation> relations_;

 private:
  struct Search;

  Result<void> check_positives(const NegativeRequest& request) const;
  Result<void> begin(const NegativeRequest& request, Search& search) const;
  Result<void> refuse(const NegativeRequest& request, Search& search) const;

  Options options_;
  RandomKey key_;
};

/// Any node of the destination type alike.
class UniformNegatives final : public NegativeSampler {
 public:
  /// The ledger has no use here: every kind is made alike.
  UniformNegatives(SamplerGraph graph, Options options, RandomKey key, MemoryLedger* ledger);

 protected:
  Result<void> check(const NegativeRequest& request) const override;
  void propose(const NegativeRequest& request,
               std::uint64_t attempt,
               std::span<Draw> draws) const override;
};

/// In proportion to in-degree^0.75, over all relations into the destination type; a node without
/// in-edges is never drawn.
class DegreeNegatives final : public NegativeSampler {
 public:
  /// Reads all in-degrees, and charges 8 bytes a node of each destination type as "negative
  /// sampling" (20 while it is made). Throws kResource, and what a topology fails with, too.
  DegreeNegatives(SamplerGraph graph, Options options, RandomKey key, MemoryLedger* ledger);

 protected:
  Result<void> check(const NegativeRequest& request) const override;
  void propose(const NegativeRequest& request,
               std::uint64_t attempt,
               std::span<Draw> draws) const override;

 private:
  Result<AliasTable> make_table(std::size_t type, MemoryLedger* ledger) const;

  std::vector<AliasTable> tables_;  // by type
};

/// The destination of another positive of the batch, each place alike (so that destinations come by
/// how often they are there).
class InBatchNegatives final : public NegativeSampler {
 public:
  InBatchNegatives(SamplerGraph graph, Options options, RandomKey key, MemoryLedger* ledger);

 protected:
  Result<void> check(const NegativeRequest& request) const override;
  void propose(const NegativeRequest& request,
               std::uint64_t attempt,
               std::span<Draw> draws) const override;
};

}  // namespace sluice
