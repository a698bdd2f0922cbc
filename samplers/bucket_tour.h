// BucketTour: the mini-batches of partition mode by number: which links of which edge bucket each
// asks about, and which partitions are in memory then.
//
// Links lie bucket by bucket, a bucket's in pieces of kPieceLinks at most. A mini-batch is of one
// piece, so that an epoch has as many whatever its order. Pure functions of (epoch, index): queries
// go by its links and draw others from partitions that are resident, who trains loads these.
// Thread-safe.
#pragma once

#include "storage/embedding/bucket_order.h"
#include "storage/embedding/bucket_schedule.h"

#include <sluice/memory.h>
#include <sluice/mutex.h>
#include <sluice/random.h>
#include <sluice/samplers/link_order.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// A piece is read whole and shuffled in memory.
inline constexpr std::uint64_t kPieceLinks = 1 << 18;

/// How the nodes of a type are divided: as many in each partition but the last ones.
struct NodeDivision {
  std::uint64_t nodes = 0;
  std::uint64_t each = 1;
};

struct BucketTourOptions {
  BucketOrderOptions order;
  SpareSlot spare = SpareSlot::kOne;
  RandomKey key{1};                  ///< of the run's seed
  std::vector<std::uint64_t> links;  ///< of each bucket: source * partitions + target
  NodeDivision sources, destinations;
  std::uint64_t batch_size = 1;
  std::uint64_t piece_links = kPieceLinks;  ///< at most
  MemoryLedger* ledger = nullptr;           ///< charged as "edge buckets"; outlives the tour
};

/// Where a mini-batch is.
struct BucketStop {
  std::uint64_t piece_first = 0;        ///< number of its piece's first link
  std::uint64_t piece_links = 0;        ///< of the piece
  std::uint64_t first = 0, links = 0;   ///< of the mini-batch, in the piece's order of the epoch
  std::vector<std::uint32_t> resident;  ///< partitions that may be asked for, ascending
  std::vector<std::uint32_t> coming;    ///< those of a later state that are read meanwhile
};

class BucketTour final : public LinkOrder {
 public:
  /// Throws kUsage for options that make no sense.
  explicit BucketTour(BucketTourOptions options);

  std::uint64_t num_batches() const override { return batches_; }
  std::uint64_t size(std::uint64_t epoch, std::uint64_t index) const override {
    return at(epoch, index).links;
  }
  void numbers(std::uint64_t epoch,
               std::uint64_t index,
               std::span<std::uint64_t> out) const override;
  /// Those of resident partitions.
  OtherNodes others(std::uint64_t epoch, std::uint64_t index) const override;

  std::uint32_t partitions() const { return options_.order.partitions; }
  const BucketTourOptions& options() const { return options_; }
  /// What a tour of so many links takes of memory, at about the most.
  static std::uint64_t memory_bytes(std::uint64_t links, std::uint32_t partitions);
  /// Partitions that have memory at once, at most: resident and coming ones.
  static std::uint32_t slots_of(const BucketOrderOptions& order, SpareSlot spare);

  /// @pre index < num_batches()
  BucketStop at(std::uint64_t epoch, std::uint64_t index) const;
  /// An epoch's order, whose coverage was checked.
  BucketOrder order(std::uint64_t epoch) const;

 private:
  // A piece in the order of an epoch.
  struct Piece {
    std::uint64_t first_batch;
    std::uint64_t first_link, links;
    std::uint32_t state;
    bool after_leaving;  // no bucket of its state that is still to come needs who leaves next
  };
  struct Epoch {
    std::uint64_t number;
    BucketOrder order;
    std::vector<Piece> pieces;
    Charge charge;
  };

  std::uint64_t batches_of(std::uint64_t links) const;
  std::shared_ptr<const Epoch> epoch(std::uint64_t number) const;
  std::shared_ptr<const Epoch> make_epoch(std::uint64_t number) const;
  void add_pieces(const Bucket& bucket, std::uint32_t state, bool after_leaving, Epoch& to) const;
  const Piece& piece_of(const Epoch& epoch, std::uint64_t index) const;
  void fill_in_place(const Epoch& epoch, const Piece& piece, BucketStop& stop) const;

  BucketTourOptions options_;
  Charge charge_;
  std::vector<std::uint64_t> first_links_;  // of each bucket
  std::uint64_t batches_ = 0;
  mutable Mutex mutex_;
  mutable std::deque<std::shared_ptr<const Epoch>> epochs_
      SLUICE_GUARDED_BY(mutex_);  // the last few
};

}  // namespace sluice
