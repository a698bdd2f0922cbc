// Loader: the mini-batches of an epoch, sampled, read and assembled ahead of their consumer.
//
//   MemoryLedger ledger(kGiB, "budget");
//   const Dataset dataset = Dataset::open("data/papers", {.ledger = &ledger});
//   GraphData data(dataset, {.features = Placement::kDisk}, 0);
//   Loader loader(data, {.batch_size = 256}, dataset.split("default").train, {}, ledger);
//   loader.start({.epoch = 0});
//   while (std::shared_ptr<const Batch> batch = loader.next()) train(*batch);
//
// In this order each outlives what comes after it, as it must: a dataset is not moved meanwhile,
// and batches may outlive loader, data and dataset (but for LoaderOptions::deferred_features), not
// the ledger.
//
// What is delivered depends on (dataset, queries, seed, epoch, sampler) alone: not on where data
// is kept, the I/O engine, the window, the budget or the number of threads. Stages run on threads
// of their own: a window of mini-batches is sampled and fetched while the one before is assembled
// and consumed. Used by one consumer thread, as are the loaders of one GraphData together.
#pragma once

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/loader_forecast.h>
#include <sluice/loader_stats.h>
#include <sluice/memory.h>
#include <sluice/query.h>
#include <sluice/snapshot.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

class CachePolicyKind;
class ComputeDevice;
class DiskProfile;
class EdgeRule;
class SamplerMethod;
class TraceWriter;
struct HeldOutEdges;
struct SamplerGraph;

/// How rows on disk are read; the same rows arrive by every plan.
/// - direct: the pages that hold them, neighbours merged
/// - sweep: in large requests that read through gaps
/// - repack: one pass over the table an epoch, rows written once in the order they are needed
/// - auto: what costs the disk least, window by window and epoch by epoch
enum class PlanChoice { kAuto, kDirect, kSweep, kRepack };

/// Where features and edges are kept for a run.
struct GraphDataOptions {
  Placement features = Placement::kDisk;
  /// The groups of node features that mini-batches carry, by name, each for the types that have it:
  /// BatchNodes::features is in this order. "" is a type's first group, whatever it is called.
  std::vector<std::string> feature_groups{""};
  /// Likewise of edge features: Block::features. Their rows are read, cached and planned as those
  /// of nodes are.
  std::vector<std::string> edge_feature_groups{};
  /// Block::labels, of relations whose edges have classes; kept in memory, a byte an edge where
  /// classes are few.
  bool edge_labels = false;
  IoChoice io = IoChoice::kAuto;
  std::uint64_t staging_bytes = 16 << 20;  ///< read buffers of each table on disk
  /// Which rows stay in the caches, of sluice/cache_policy.h; null: belady.
  std::shared_ptr<const CachePolicyKind> cache = nullptr;
  PlanChoice plan = PlanChoice::kAuto;
  /// A folder for what an epoch plan keeps on disk. With it, epochs are sampled ahead for their
  /// node ids, so that all next uses are known, and rows may be repacked; without it one window is.
  std::string scratch{};
  /// The disk that the dataset is on, as measured; null: a typical NVMe drive is assumed.
  std::shared_ptr<const DiskProfile> disk = nullptr;
  Placement topology = Placement::kMemory;
  /// By relation, in the place of `topology`; none at all: that holds for all.
  std::vector<Placement> relation_topology{};
  /// Load the weights of edges, for samplers that need them; they stay in memory.
  bool edge_weights = false;
  /// Load the times of edges, and edges with times, for samplers that need them; they stay in
  /// memory.
  bool edge_times = false;
  /// Where edges are on disk, leave these there too, for who asks for no SamplerGraph::temporal:
  /// queries of nodes. Relations with edge rules are loaded all the same.
  bool paged_times = false;
  /// By relation: which of its edges mini-batches may see, those of the training part; null, or
  /// none at all: all of them. What is taken out is GraphData::held_out().
  std::vector<std::shared_ptr<const EdgeRule>> edge_rules{};
  /// Pages kept of edges on disk: shared out to the relations there by their number of edges.
  std::uint64_t topology_cache_bytes = 64 << 20;
  /// In-edges of hot nodes kept in RAM; made by the first loader that draws from them. The
  /// approximate modes hold for edges in memory too, so that mini-batches are the same.
  SnapshotOptions snapshot{};
  /// The GPU that mini-batches are delivered on, and the ledger of its memory, which must outlive
  /// the data; null: they stay on the host.
  std::shared_ptr<ComputeDevice> compute = nullptr;
  MemoryLedger* compute_ledger = nullptr;

  /// Where a relation's edges are.
  Placement topology_of(std::size_t relation) const {
    return relation < relation_topology.size() ? relation_topology[relation] : topology;
  }
};

/// Whose labels mini-batches carry, looked up by Queries::ids; none of these: no labels.
struct LabelsOf {
  std::optional<std::size_t> node_type{};  ///< index into GraphSchema::nodes
  std::optional<std::size_t> relation{};   ///< index into GraphSchema::relations: by edge id
  /// Classes, i32 [n], of links that are no edges of the relation: theirs are the ids from
  /// RelationSchema::edge_id_bound on.
  Array more{};
  bool graphs = false;  ///< of the dataset's many small graphs: by number
};

/// Everything of a dataset that mini-batches are made of: topologies, labels and feature stores,
/// opened once and shared by the loaders of a run: one goes through an epoch at a time. Charged to
/// the dataset's ledger, and caches to that of the loader that made them: both must outlive this.
class GraphData {
 public:
  /// Throws Error. @param dataset must outlive this, in its place: it is not moved
  GraphData(const Dataset& dataset, const GraphDataOptions& options, const LabelsOf& labels);
  /// With the labels of a node type.
  GraphData(const Dataset& dataset, const GraphDataOptions& options, std::size_t target_type)
      : GraphData(dataset, options, LabelsOf{target_type, {}}) {}
  /// Not of a dataset that ends with the line.
  GraphData(const Dataset&&, const GraphDataOptions&, const LabelsOf&) = delete;
  GraphData(const Dataset&&, const GraphDataOptions&, std::size_t) = delete;
  /// @pre no loader of it is alive
  ~GraphData();
  GraphData(const GraphData&) = delete;
  GraphData& operator=(const GraphData&) = delete;

  const GraphSchema& schema() const;
  /// The node type whose labels mini-batches carry; 0 where they carry others.
  std::size_t target_type() const { return labels_of().node_type.value_or(0); }
  const LabelsOf& labels_of() const;
  const GraphDataOptions& options() const;
  /// The dataset's; null: nothing is charged.
  MemoryLedger* ledger() const;
  /// The relations as mini-batches see them, each with what GraphDataOptions::edge_rules left.
  const SamplerGraph& graph() const;
  /// The edges of a relation that GraphDataOptions::edge_rules took out of it; null: none.
  const HeldOutEdges* held_out(std::size_t relation) const;
  /// Labels by id, as batches carry them; without a shape where there are none. Throws kUsage for
  /// an id beyond them, kResource.
  /// @pre the dataset has a ledger
  Array labels(std::span<const std::uint64_t> ids) const;
  /// i64 [nodes]: the times of a type's nodes, loaded when they are first asked for. Throws kUsage
  /// where it has none or there is no such type, kResource. Used by one thread at a time.
  Array node_times(std::size_t type) const;
  /// "io_uring", "pread" or "memory".
  std::string engine() const;
  /// Sets GraphDataOptions::scratch and GraphDataOptions::disk for the loaders that start from now
  /// on.
  void plan_epochs(std::string scratch, std::shared_ptr<const DiskProfile> disk);

  /// Goes on with a later generation of the dataset: Dataset::newer(). Edges are opened anew; rows
  /// and labels of types that have grown, and what is cached of them; of a snapshot cache only the
  /// records of nodes whose edges changed are dropped. No loader may be alive. Throws Error; the
  /// data is then good for another reopen() only. @param newer must outlive this
  void reopen(const Dataset& newer);
  void reopen(const Dataset&&) = delete;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

struct LoaderOptions {
  std::uint64_t seed = 1;
  std::vector<std::int64_t> fanout{
      15, 10};  ///< first number next to the seeds; -1: all; empty: no neighbours
  /// How batches are sampled, of sluice/sampler.h; null: neighbours by `fanout`, uniformly.
  std::shared_ptr<const SamplerMethod> sampler = nullptr;
  std::int64_t batch_size = 1024;  ///< of a loader of nodes
  bool shuffle = true;             ///< of the same: a new order every epoch
  bool transpose = true;           ///< blocks carry their transpose (for training)
  bool degrees = false;           ///< BatchNodes::degrees, for models that need them (Model::needs)
  bool relation_degrees = false;  ///< BatchNodes::relation_degrees, likewise
  bool edge_ids = false;  ///< Block::edge_ids; there too where what goes by them is asked for
  /// Features of nodes are gathered when somebody asks: Batch::deferred. Not for a GPU. Such
  /// mini-batches must not outlive their GraphData, nor be asked after its reopen().
  bool deferred_features = false;
  bool hash = false;            ///< hash delivered batches (LoaderStats::batches_xxh3)
  bool exact = false;           ///< not from approximate snapshots: for evaluation
  bool normalize_rows = false;  ///< divide each node feature row by the sum of its absolute values
  std::int64_t window =
      0;  ///< mini-batches sampled ahead; 0: as many as fit `LoaderMemory::window_bytes`
  int data_threads = 0;          ///< 0: all cores
  TraceWriter* trace = nullptr;  ///< where stages say what they do; borrowed; null: nowhere
};

/// The loader's share of the budget. All of it is charged to the ledger as it is used.
struct LoaderMemory {
  std::uint64_t window_bytes =
      256 << 20;  ///< windows in flight: sampled blocks, and the caches of feature rows
  std::uint64_t queue_bytes = 64 << 20;  ///< assembled batches waiting for the consumer (at least
                                         ///< one may wait); 0: none but the one being assembled
  /// To a GPU: pinned host bytes of a mini-batch in flight, and as many there, of which
  /// kInFlight are made once, when the first goes; larger mini-batches grow them.
  std::uint64_t transfer_bytes = 0;
  static constexpr std::uint64_t kInFlight = 3;  ///< copied, ready, in step
  /// Sampling and the consumer take turns in the same memory: an epoch is sampled, planned and kept
  /// on disk before its first mini-batch, which is assembled when next() asks for it, as are those
  /// after it: the consumer has let go of the one before by then. Nothing is prepared for the epoch
  /// after. Slower, and works with the least. Needs epochs that are planned: features on disk,
  /// GraphDataOptions::scratch, and a cache that wants next uses or repacking; not for a GPU.
  bool in_turns = false;
};

/// What a few mini-batches of a run take, measured by sampling them: the ground of the budget's
/// split.
struct LoaderProbe {
  std::uint64_t batches = 0;
  std::uint64_t sampled_bytes = 0;    ///< largest batch's ids and blocks, without transposes
  std::uint64_t block_bytes = 0;      ///< largest batch's ids and blocks, as they are delivered
  std::uint64_t group = 0;            ///< batches sampled at once
  std::uint64_t feature_bytes = 0;    ///< largest batch's assembled features
  std::uint64_t transfer_bytes = 0;   ///< largest batch as it is packed for a GPU
  std::uint64_t window_bytes = 0;     ///< the least LoaderMemory::window_bytes that works
  std::uint64_t workspace_bytes = 0;  ///< samplers' own memory, all threads
  std::uint64_t smallest_bytes = 0;   ///< smallest batch's ids, blocks and features
  /// Of an epoch that is sampled in turns with its consumption: while it is, and what stays of it.
  std::uint64_t sampling_bytes = 0;
  std::uint64_t kept_bytes = 0;
};

/// Where an epoch begins: at its start, or in its middle after a resume.
struct LoaderStart {
  std::uint64_t epoch = 0;
  std::uint64_t first_batch = 0;
  std::uint64_t batches_xxh3 = 0;
  /// The begin of the epoch after is what this loader is likely to be started with next: that epoch
  /// may be sampled and its rows read ahead while this one is consumed.
  bool next_follows = false;
  /// Other loaders of the data are likely to be started before, as for a validation: with edges in
  /// memory what was prepared is completed then and outlives them, in the memory of the sampler's
  /// workspaces, and the epoch after begins with empty caches. With edges on disk nothing is
  /// prepared. Where this does not say so, what was prepared ends when another loader is started.
  bool others_between = false;
};

class Loader {
 public:
  /// Throws Error: kUsage for null queries, seeds that are not u64, and a batch size below 1.
  /// @param data must outlive this
  /// @param memory may be changed with set_memory before the first start()
  /// @param ledger must outlive this, its batches and data
  Loader(GraphData& data,
         const LoaderOptions& options,
         std::shared_ptr<const QuerySource> queries,
         const LoaderMemory& memory,
         MemoryLedger& ledger);
  /// Of nodes of data.target_type(), each asked about once an epoch: LoaderOptions says in which
  /// order. @param seeds u64 [n]: distinct ids; shared, not copied. One that is no node, or that is
  /// there twice, is an Error (kData) of start() or next()
  Loader(GraphData& data,
         const LoaderOptions& options,
         Array seeds,
         const LoaderMemory& memory,
         MemoryLedger& ledger);
  ~Loader();  ///< stops
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::uint64_t num_batches() const;
  void set_memory(const LoaderMemory& memory);

  /// Samples the first `count` batches of epoch 0 and measures them. Throws Error.
  LoaderProbe probe(std::uint64_t count);

  /// The first mini-batch of epoch 0 with features of nothing but zeros: to try a step with where
  /// reading rows has no room yet. On the host. Throws Error: kUsage where there is none.
  std::shared_ptr<const Batch> blank();

  /// What an epoch would ask of the disk, from some of its batches: as many as tell something, or
  /// as can be sampled in so many seconds. Nothing is written, and no features are read. Throws
  /// Error.
  LoaderForecast forecast(double seconds);

  /// Stops what runs and begins to prepare batches, or goes on with those that were prepared as
  /// LoaderStart::next_follows said. Throws kUsage while another loader of the data is in an epoch.
  void start(const LoaderStart& where);
  /// The next batch, or null at the end of the epoch. On a GPU its arrays are of its memory, to be
  /// used on the compute stream, and Batch::host has what stayed behind; fewer than kInFlight
  /// earlier ones may then be alive. Throws the Error of whichever stage failed, or whatever a
  /// query source or sampler threw, and the same again until the next start(). Null before start()
  /// and after stop(), too.
  std::shared_ptr<const Batch> next();
  /// Waits until next() need not wait, at most so long; false where it still must. For consumers
  /// that look at something else meanwhile. The mini-batch before counts as let go.
  bool wait(std::chrono::milliseconds most);
  /// Stops the stages; batches already handed out stay valid.
  void stop();
  LoaderStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
