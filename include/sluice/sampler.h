// Sampler: seed nodes become the blocks of a mini-batch. Torch-free.
//
// A sample is a pure function of (seed, epoch, round, hop, node type, relation, node): never of
// batch mates, order, threads, or where the topology is kept. One sampler serves one thread at a
// time; make one for each thread. A SamplerMethod is a way of sampling as it was configured, which
// makes them: what a name in the registry stands for.
#pragma once

#include <sluice/batch.h>
#include <sluice/catalog.h>
#include <sluice/error.h>
#include <sluice/query.h>
#include <sluice/random.h>
#include <sluice/snapshot.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

class TemporalGraph;
class TemporalSource;

/// What a sampler draws from: the schema and one topology a relation, in the schema's order.
struct SamplerGraph {
  const GraphSchema* schema = nullptr;
  std::vector<std::shared_ptr<Topology>> relations;
  /// By relation: f32 [edges], beside the CSC's neighbours; empty for a relation without, and as a
  /// whole where nobody needs them (SamplerMethod::needs_weights).
  std::vector<Array> weights = {};
  /// By relation: its edges with their times; null for a relation without, and none as a whole
  /// where nobody needs them (SamplerMethod::needs_times).
  std::vector<std::shared_ptr<const TemporalGraph>> temporal = {};
  /// By relation: its events where they stay on disk, and `temporal` is null; none as a whole where
  /// all are in RAM.
  std::vector<std::shared_ptr<const TemporalSource>> paged_events = {};
};

/// What a consumer needs of a batch beyond the sampled edges themselves.
struct BlockParts {
  bool transpose = true;          ///< for the backward pass
  bool edge_ids = false;          ///< for edge features
  bool degrees = false;           ///< BatchNodes::degrees
  bool relation_degrees = false;  ///< BatchNodes::relation_degrees
  /// Most bytes of a sampler's tables with a slot for each node, one a type; types for which too
  /// little is left have their nodes found by hashing. The batches are the same.
  std::uint64_t table_bytes = std::uint64_t{256} << 20;
};

/// One mini-batch to be sampled.
struct SampleRequest {
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;  ///< key of the draws; the batch's number unless rounds are shared
  std::uint64_t index = 0;  ///< the batch's number in its epoch
  SeedLists seeds;          ///< distinct nodes of each type, or nodes at times
  std::optional<TemporalCut> cut = std::nullopt;  ///< QueryBatch::cut
};

class NeighborSampler;

class Sampler {
 public:
  virtual ~Sampler() = default;

  virtual std::size_t num_layers() const = 0;

  /// A batch with seeds, node ids, sizes and blocks; features and labels are left empty. Its arrays
  /// are charged to `ledger` as "batches", and what the sampler keeps for the next batch as
  /// "sampler workspace": a ledger must outlive the sampler. Null: nothing is charged. Errors:
  /// kResource (ledger, or beyond 2^31 nodes of a type or edges of a block), kData (a seed that is
  /// repeated or no node), kUsage (seeds with times, or without, that this sampler cannot use), kIo
  /// / kData from a topology on disk. The sampler stays usable.
  virtual Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) = 0;

  /// What it keeps for the next batch: the budget of a run goes by it.
  virtual std::uint64_t workspace_bytes() const = 0;

  /// This sampler where it goes hop by hop in steps, so that several batches ask a topology on disk
  /// at once; else null.
  virtual NeighborSampler* by_hops() { return nullptr; }
};

/// The mini-batches of seeds of an epoch, any of them found directly. Thread-safe.
class BatchOrder {
 public:
  virtual ~BatchOrder() = default;
  /// Mini-batches an epoch.
  virtual std::uint64_t num_batches() const = 0;
  /// The seeds of a mini-batch: over an epoch, each once. @pre index < num_batches()
  virtual std::vector<std::uint64_t> batch(std::uint64_t epoch, std::uint64_t index) const = 0;
};

/// Seeds that are to be put in an order.
struct OrderRequest {
  const GraphSchema& schema;
  std::size_t seed_type = 0;
  std::span<const std::uint64_t> seeds;  ///< distinct; must outlive the order
  bool shuffle = true;                   ///< another order every epoch
  RandomKey key;
  MemoryLedger* ledger = nullptr;
};

class SamplerMethod {
 public:
  virtual ~SamplerMethod() = default;

  /// Layers of blocks in its batches.
  virtual std::size_t num_layers() const = 0;
  /// Whether SamplerGraph::weights are looked at.
  virtual bool needs_weights() const { return false; }
  /// Whether it takes nodes at times, and what was before: then SamplerGraph::temporal is looked
  /// at, and queries must have times.
  virtual bool needs_times() const { return false; }
  /// Whether it must know which event each of them belongs to: QueryBatch::seed_events.
  virtual bool needs_events() const { return false; }
  /// Which events a query at a time may see, as results are to name it; empty for a sampler that
  /// asks for no times.
  virtual std::string_view visibility() const { return {}; }
  /// The order of seeds that its batches must have; null: any, of the batch size that is asked for.
  virtual std::unique_ptr<BatchOrder> make_order(const OrderRequest&) const { return nullptr; }
  /// Which in-edges are kept in RAM for it, as its options say.
  virtual SnapshotOptions snapshot() const { return {}; }
  /// The most in-edges it draws of a node and relation at once, uniformly among Topology::ranges(),
  /// so that it may draw from snapshots; -1: all of them; 0: it needs the graph itself.
  virtual std::int64_t most_edges() const { return 0; }
  /// @param key of the run's seed. Throws kUsage for options that do not go with the graph.
  virtual std::unique_ptr<Sampler> make(const SamplerGraph& graph,
                                        const BlockParts& parts,
                                        RandomKey key) const = 0;
};

/// The method of a Sampler class `T`: T::Options has describe(Schema&) and num_layers(), and
/// needs_weights(), needs_times(), needs_events(), visible(), make_order(), most_edges() and
/// `snapshot` where it may; T(SamplerGraph, Options, BlockParts, RandomKey).
template <class T>
class SamplerKind final : public SamplerMethod {
 public:
  using Options = typename T::Options;

  explicit SamplerKind(Options options) : options_(std::move(options)) {}

  std::size_t num_layers() const override { return options_.num_layers(); }
  bool needs_weights() const override {
    if constexpr (requires(const Options& options) { options.needs_weights(); }) {
      return options_.needs_weights();
    } else {
      return false;
    }
  }
  bool needs_times() const override {
    if constexpr (requires(const Options& options) { options.needs_times(); }) {
      return options_.needs_times();
    } else {
      return false;
    }
  }
  bool needs_events() const override {
    if constexpr (requires(const Options& options) { options.needs_events(); }) {
      return options_.needs_events();
    } else {
      return false;
    }
  }
  std::string_view visibility() const override {
    if constexpr (requires(const Options& options) { options.visible(); }) {
      return options_.visible();
    } else {
      return {};
    }
  }
  std::unique_ptr<BatchOrder> make_order(const OrderRequest& request) const override {
    if constexpr (requires(const Options& options) { options.make_order(request); }) {
      return options_.make_order(request);
    } else {
      return nullptr;
    }
  }
  SnapshotOptions snapshot() const override {
    if constexpr (requires(const Options& options) { options.snapshot; }) {
      return options_.snapshot;
    } else {
      return {};
    }
  }
  std::int64_t most_edges() const override {
    if constexpr (requires(const Options& options) { options.most_edges(); }) {
      return options_.most_edges();
    } else {
      return 0;
    }
  }
  std::unique_ptr<Sampler> make(const SamplerGraph& graph,
                                const BlockParts& parts,
                                RandomKey key) const override {
    return std::make_unique<T>(graph, options_, parts, key);
  }

 private:
  Options options_;
};

using SamplerCatalog = Catalog<SamplerMethod>;

}  // namespace sluice
