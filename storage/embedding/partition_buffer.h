// PartitionBuffer: which partitions of an embedding table are in memory, each whole, in one of a
// few slots. A partition is as many consecutive rows as fill whole groups. Used by one thread, but
// for the rows of a slot that a job reads or writes, which are the disk thread's until it is done.
#pragma once

#include "storage/embedding/resident_rows.h"

#include <sluice/memory.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

class PartitionBuffer final : public ResidentRows {
 public:
  /// Charged as "embedding partitions". Throws kResource, kUsage.
  PartitionBuffer(const RowLayout& layout,
                  std::uint32_t partitions,
                  std::uint32_t slots,
                  MemoryLedger* ledger);

  /// Memory for so many slots, with what is known of them.
  static std::uint64_t bytes_of(const RowLayout& layout,
                                std::uint32_t partitions,
                                std::uint32_t slots);

  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t partition_of(std::uint64_t row) const {
    return static_cast<std::uint32_t>(row / rows_each_);
  }

  /// A slot for a partition, whose rows the caller has read by `job`. Throws kResource where none
  /// is free, kInternal where it is there.
  void take_slot(std::uint32_t partition, std::uint64_t job);
  /// The partition's slot is free for who asks for one; returns its groups with dirty rows.
  struct Leaving {
    PartitionRows rows;
    std::vector<std::uint8_t> dirty_groups;  // one a group of the partition
  };
  Leaving give_slot(std::uint32_t partition);

  /// Throws kInternal where it is not resident.
  PartitionRows rows_of(std::uint32_t partition) const;
  std::uint64_t job_of(std::uint32_t partition) const { return slots_[slot_of(partition)].job; }
  void touch(std::uint32_t partition);

  /// Appends the rows of dirty groups that lie in [first, end).
  void list_rows(const PartitionRows& rows,
                 const std::vector<std::uint8_t>& dirty_groups,
                 std::uint64_t first,
                 std::uint64_t end,
                 std::vector<RowMove>& moves) const;

  ResidentRow find(std::uint64_t row) const override;
  ResidentRow find_any(std::uint64_t row) const override { return find(row); }
  void mark_dirty(std::uint64_t row) override;
  Error not_here(std::uint64_t row) const override;
  void list_dirty(std::uint64_t first,
                  std::uint64_t end,
                  std::vector<RowMove>& dirty) const override;
  void mark_clean() override;
  void grow(const RowLayout& layout) override;

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Slot {
    std::uint32_t partition = kNowhere;
    std::uint64_t job = 0;
    std::vector<std::uint8_t> dirty_groups;
  };

  void divide();
  std::uint32_t slot_of(std::uint32_t partition) const;
  float* data_of(std::size_t slot) const;

  RowLayout layout_;
  std::uint32_t partitions_;
  MemoryLedger* ledger_;
  std::uint64_t groups_each_ = 0, rows_each_ = 0;
  std::unique_ptr<AlignedBuffer> data_;
  Charge charge_;  // of the dirty marks
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> where_;  // by partition: its slot, or kNowhere
};

}  // namespace sluice
