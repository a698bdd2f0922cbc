// SnapshotTopology: a topology with records of hot nodes' in-edges in RAM before it.
//
// GraphSnapShot (Liu, Xia, Xie 2024), built anew: a record has a fixed place, so that a position
// beyond num_edges() is an entry of it, and no position is searched for. ranges() offers a hot
// node's record in place of its list and notes the records that are not of the current period;
// the next neighbours() brings all of these in one sorted sweep, then answers. So a record is read
// only when somebody asks for it, and at most once a period.
//
// `full` records are whole lists: the same samples as without. Of the others a record has
// min(slots, degree) edges: a draw from it is, by itself, a uniform one, but draws of one period
// repeat: the mean over many has the variance floor (1/c - 1/d) sigma^2 of c of d edges. Where
// degree <= slots nothing is lost.
//
// Thread-safe as any topology; ranges() of several threads do not wait for each other.
// begin_round(), update() and invalidate() are for when nobody samples: ranges given before are
// void then (after begin_round() only of another period).
#pragma once

#include "core/shared_mutex.h"
#include "samplers/snapshot/hot_set.h"
#include "samplers/snapshot/record_draws.h"
#include "samplers/snapshot/snapshot_records.h"

#include <sluice/samplers/charged_buffer.h>
#include <sluice/snapshot.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace sluice {

class SnapshotTopology final : public Topology {
 public:
  struct Setup {
    SnapshotOptions options;         ///< mode, period and gamma; mode is not off
    std::uint64_t slots = 0;         ///< edges of a record; `full`: not used
    std::uint64_t capacity = 0;      ///< bytes that update() may take
    RandomKey key{0};                ///< of the run's seed and the relation
    MemoryLedger* ledger = nullptr;  ///< must outlive this
  };

  /// @param hot nodes that have a record: ascending, distinct. Charged as "snapshot", and scratch
  /// as "sampler workspace". Errors: kResource, and what `inner` fails with.
  static Result<std::shared_ptr<SnapshotTopology>> make(std::shared_ptr<Topology> inner,
                                                        const Setup& setup,
                                                        std::span<const std::uint64_t> hot);

  /// Edges that a record of a node has.
  static std::uint64_t record_size(const Setup& setup, std::uint64_t degree);

  /// The edges have changed: `newer` is the relation of a later generation, whose nodes have the
  /// ids they had. Records stay where the node's edges are those they were; those of `changed`
  /// nodes, and of nodes whose degree differs, are dropped, and drawn from `newer` when they are
  /// asked for next, so that nothing stale is answered. A node whose record has no room any more
  /// is asked of `newer` from now on. Where the ledger has no room for old and new records beside
  /// each other all are dropped. Errors: kUsage for fewer nodes than before; kResource; the
  /// topology is then as it was, or empty.
  Result<void> update(std::shared_ptr<Topology> newer, std::span<const std::uint64_t> changed = {});
  /// Drops the records of these nodes, until they are asked for.
  void invalidate(std::span<const std::uint64_t> nodes);

  std::uint64_t num_sources() const override { return inner_->num_sources(); }
  std::uint64_t num_targets() const override { return inner_->num_targets(); }
  std::uint64_t num_edges() const override { return inner_->num_edges(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override;
  Result<void> whole_ranges(std::span<const std::uint64_t> targets,
                            std::span<EdgeRange> out) override;
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override;
  /// Asks the topology behind for all of them: records hold no edge ids.
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override;
  Result<std::uint64_t> begin_round(std::uint64_t epoch, std::uint64_t round) override;
  /// Of the topology behind.
  TopologyStats stats() const override { return inner_->stats(); }
  std::uint64_t workspace_bytes() const override;

  SnapshotStats snapshot_stats() const;

 private:
  using Tag = SnapshotRecords::Tag;
  // Whole lists do not age.
  static constexpr Tag kForever = ~Tag{0};
  // A tag is the number of the epoch begun, and in the low bits the period and one.
  static constexpr unsigned kPeriodBits = 40;

  // What is to be read into records: positions behind, and the entries they belong in.
  struct Sweep {
    ChargedBuffer<std::uint64_t> positions, entries, sources;
    std::size_t count = 0;
  };

  SnapshotTopology(std::shared_ptr<Topology> inner, const Setup& setup);
  Tag tag_of(std::uint64_t period) const SLUICE_REQUIRES_SHARED(mutex_) {
    return (epochs_ << kPeriodBits) + period + 1;
  }
  bool valid(std::uint32_t record) const SLUICE_REQUIRES_SHARED(mutex_) {
    const Tag tag = records_.tag(record);
    return tag == now_ || tag == kForever;
  }
  Result<Array> layout(Topology& topology, const HotSet& hot);
  Result<void> drop_changed(Topology& newer, std::span<const std::uint64_t> changed)
      SLUICE_REQUIRES(mutex_);
  void drop(std::uint32_t record) SLUICE_REQUIRES(mutex_);
  void copy_valid(const SnapshotRecords& from, SnapshotRecords& to) const;
  Result<void> fill() SLUICE_REQUIRES(mutex_);
  Result<void> fill_wanted(std::span<const std::uint32_t> wanted) SLUICE_REQUIRES(mutex_);
  Result<void> read_record(std::uint32_t record, EdgeRange range) SLUICE_REQUIRES(mutex_);
  Result<void> add_to_sweep(std::uint64_t position, std::uint64_t entry) SLUICE_REQUIRES(mutex_);
  Result<void> finish_sweep() SLUICE_REQUIRES(mutex_);
  Result<void> positions_behind(std::span<const std::uint64_t> positions,
                                std::span<std::uint64_t> out) SLUICE_REQUIRES(mutex_);

  std::shared_ptr<Topology> inner_;  // exchanged when nobody samples
  Setup setup_;
  mutable SharedMutex mutex_;  // ranges() shares it
  HotSet hot_ SLUICE_GUARDED_BY(mutex_);
  SnapshotRecords records_ SLUICE_GUARDED_BY(mutex_);
  RecordDraws draws_ SLUICE_GUARDED_BY(mutex_);
  ChargedBuffer<std::uint64_t> now_drawn_ SLUICE_GUARDED_BY(mutex_);  // of one record
  ChargedBuffer<std::uint64_t> before_drawn_ SLUICE_GUARDED_BY(mutex_);
  ChargedBuffer<std::uint64_t> behind_ SLUICE_GUARDED_BY(mutex_);  // positions of one call
  Sweep sweep_ SLUICE_GUARDED_BY(mutex_);

  std::optional<std::uint64_t> epoch_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t epochs_ SLUICE_GUARDED_BY(mutex_) = 0;  // begun so far
  std::uint64_t period_ SLUICE_GUARDED_BY(mutex_) = 0;
  Tag now_ SLUICE_GUARDED_BY(mutex_);
  double age_ SLUICE_GUARDED_BY(mutex_) = 0;  // of entries, mini-batches
  std::uint64_t oldest_ SLUICE_GUARDED_BY(mutex_) = 0;
  SnapshotStats stats_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
