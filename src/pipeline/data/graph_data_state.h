// What GraphData holds; for the pipeline's own files.
#pragma once

#include "pipeline/data/feature_table.h"
#include "pipeline/data/label_table.h"
#include "samplers/snapshot/snapshot_graph.h"
#include "storage/feature/disk_store.h"
#include "storage/feature/row_cache.h"
#include "storage/io/disk_profile.h"
#include "storage/io/scratch_files.h"

#include <sluice/edge_rule.h>
#include <sluice/loader.h>
#include <sluice/sampler.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sluice {

class TransferRing;
struct CachedTable;

struct GraphData::State {
  const Dataset* dataset = nullptr;
  GraphDataOptions options;                 // with a cache
  std::shared_ptr<const DiskProfile> disk;  // never null
  LabelsOf labels_of;
  SamplerGraph graph;
  std::vector<std::shared_ptr<const HeldOutEdges>> held_out;  // by relation; null: none
  std::vector<FeatureTable> tables;
  LabelTable labels;                      // as labels_of says; empty where there are none
  std::vector<LabelTable> edge_labels;    // by relation, of blocks; empty where nobody asks
  mutable std::vector<Array> node_times;  // by node type; without a shape until they are asked for
  /// By table; null where rows are in memory. Made by the first loader that starts, kept for
  /// the next ones, so that a row read for training is there for evaluation.
  std::vector<std::unique_ptr<RowCache>> caches;
  /// By node type, how often its nodes are neighbours; null where no policy asks.
  std::vector<std::shared_ptr<const Array>> hotness;
  std::uint64_t cache_bytes = 0;  // they were made for
  std::uint64_t caches_made = 0;  // times
  /// The loader that was started last and not stopped, or null; ends what it does beyond its
  /// epoch's end. Throws kUsage where it is in an epoch.
  const void* active = nullptr;
  std::function<void()> stop_active;
  /// What stages were busy for when that loader made way: it counts for the one that waited.
  std::vector<StageTimes> busy_making_way;
  /// That an epoch's plan and mini-batches are kept in.
  std::shared_ptr<ScratchFiles> scratch_files = std::make_shared<ScratchFiles>();
  /// Mini-batches on their way to the GPU, where there is one; made by the first loader.
  std::shared_ptr<TransferRing> ring;

  bool on_disk(std::size_t table) const { return tables[table].on_disk(); }

  /// The graph with its snapshot cache, and what its records were made for.
  std::unique_ptr<SnapshotGraph> snapshots;
  std::shared_ptr<const SamplerMethod> snapshot_method;
  std::vector<std::int64_t> snapshot_fanout;
  std::uint64_t snapshot_seed = 0;

  /// Whether mini-batches of these options are drawn from approximate snapshots.
  bool approximates(const LoaderOptions& loader) const {
    return options.snapshot.approximate() && !loader.exact;
  }
  /// What a loader draws from: the graph, or, made when it is first asked for, its snapshot cache.
  /// Throws kUsage, kResource. @param book must outlive this
  const SamplerGraph& sampling_graph(const LoaderOptions& loader,
                                     const QuerySource& queries,
                                     MemoryLedger& book);

  /// Whether features are on disk.
  bool rows_on_disk() const { return std::ranges::any_of(tables, &FeatureTable::on_disk); }
  /// Whether mini-batches carry what is looked up by edge id: features of edges, or their labels.
  bool looks_up_edges() const {
    return !edge_labels.empty() || std::ranges::any_of(tables, [](const FeatureTable& table) {
      return table.of == FeatureTable::Of::kEdges;
    });
  }
  /// Whether features or edges are on disk.
  bool reads() const;

  /// The relations of a dataset, as the options say.
  struct Opened {
    SamplerGraph graph;
    std::vector<std::shared_ptr<const HeldOutEdges>> held_out;
  };
  Opened open_graph(const Dataset& from) const;
  /// A relation loaded into memory, as mini-batches see it. Throws Error.
  std::shared_ptr<Topology> load_relation(std::size_t relation) const;
  LabelTable open_labels(const Dataset& from) const;
  /// As GraphDataOptions::edge_labels says; a relation whose labels are there already shares them.
  std::vector<LabelTable> open_edge_labels(const Dataset& from) const;
  /// Rows of labels that a dataset has.
  std::int64_t labels_in(const Dataset& from) const;
  void reopen_graph(const Dataset& newer);

  /// Slots of caches of `bytes` in all, by table, as make_caches shares them out. Counts how often
  /// nodes are neighbours where the policy's share goes by that, once. Throws kResource.
  std::vector<std::uint64_t> slots_for(std::uint64_t bytes,
                                       const std::vector<std::uint64_t>& wanted_bytes,
                                       const std::vector<std::uint64_t>& least_slots,
                                       MemoryLedger& ledger);
  /// Bytes by table of caches of `bytes` in all, by the rows that are used most: none to tables of
  /// which nothing is wanted. Empty where the least slots do not fit.
  std::vector<std::uint64_t> bytes_by_uses(std::uint64_t bytes,
                                           const std::vector<std::uint64_t>& wanted_bytes,
                                           const std::vector<std::uint64_t>& least_slots,
                                           MemoryLedger& ledger);
  /// A table on disk as caches are shared out by it, but for its least rows. Throws kResource.
  CachedTable cached_table(std::size_t table, const DiskProfile& on, MemoryLedger& ledger);
  /// The hotness of a node type, counted when it is first asked for. Throws kResource.
  const std::shared_ptr<const Array>& hotness_of(std::size_t type, MemoryLedger& ledger);

  /// Of the bytes that the caches were made for, those that they do not take, as tables have no
  /// more rows.
  std::uint64_t spare_cache_bytes() const;

  /// They know no rows any more.
  void clear_caches() noexcept {
    for (const auto& cache : caches) {
      if (cache) cache->directory.clear();
    }
  }

  /// Makes the caches of `bytes` in all, split over the tables by `wanted_bytes`, unless those that
  /// are there take about as much and have the slots. Throws kResource.
  /// @param wanted_bytes by table: what a mini-batch asks for
  /// @param least_slots by table. @param ledger must outlive this
  void make_caches(std::uint64_t bytes,
                   const std::vector<std::uint64_t>& wanted_bytes,
                   const std::vector<std::uint64_t>& least_slots,
                   MemoryLedger& ledger);
};

/// Of a table on disk.
inline DiskFeatureStore& disk_store(const GraphData::State& data, std::size_t table) {
  return dynamic_cast<DiskFeatureStore&>(*data.tables[table].store);
}

}  // namespace sluice
