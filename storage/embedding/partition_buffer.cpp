#include "storage/embedding/partition_buffer.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

PartitionBuffer::PartitionBuffer(const RowLayout& layout,
                                 std::uint32_t partitions,
                                 std::uint32_t slots,
                                 MemoryLedger* ledger)
    : layout_(layout), partitions_(partitions), ledger_(ledger) {
  if (slots == 0) {
    throw Error(ErrorCode::kUsage,
                "partitions of an embedding table have no slot to be in",
                "set partition_slots: those that are trained together, and a spare one");
  }
  slots_.resize(std::min(slots, partitions));
  where_.assign(partitions, kNowhere);
  divide();
}

std::uint64_t PartitionBuffer::bytes_of(const RowLayout& layout,
                                        std::uint32_t partitions,
                                        std::uint32_t slots) {
  const std::uint64_t held = std::min(slots, partitions);
  return held * layout.groups_each(partitions) +
         round_up_to_page(held * layout.rows_each(partitions) * layout.row_bytes());
}

void PartitionBuffer::divide() {
  groups_each_ = layout_.groups_each(partitions_);
  rows_each_ = layout_.rows_each(partitions_);
  data_.reset();
  if (ledger_ != nullptr) {
    charge_ = Charge();
    charge_ = ledger_->charge("embedding partitions", slots_.size() * groups_each_).or_throw();
  }
  const std::uint64_t bytes = slots_.size() * rows_each_ * layout_.row_bytes();
  data_ = std::make_unique<AlignedBuffer>(
      AlignedBuffer::make(bytes, ledger_, "embedding partitions").or_throw());
  for (Slot& slot : slots_) slot.dirty_groups.assign(groups_each_, 0);
}

float* PartitionBuffer::data_of(std::size_t slot) const {
  return reinterpret_cast<float*>(data_->data() + slot * rows_each_ * layout_.row_bytes());
}

void PartitionBuffer::take_slot(std::uint32_t partition, std::uint64_t job) {
  if (partition >= partitions_ || where_[partition] != kNowhere) {
    throw Error(ErrorCode::kInternal,
                fmt::format("partition {} of {} is to be loaded, and is {}",
                            partition,
                            partitions_,
                            partition >= partitions_ ? "none" : "resident"),
                "load() each partition once, until it is released");
  }
  const auto free = std::ranges::find(slots_, kNowhere, &Slot::partition);
  if (free == slots_.end()) {
    throw Error(ErrorCode::kResource,
                fmt::format("partition {} finds none of {} slots free", partition, slots_.size()),
                "release() a partition before, or raise partition_slots");
  }
  free->partition = partition;
  free->job = job;
  std::ranges::fill(free->dirty_groups, std::uint8_t{0});
  where_[partition] = static_cast<std::uint32_t>(free - slots_.begin());
}

PartitionBuffer::Leaving PartitionBuffer::give_slot(std::uint32_t partition) {
  Slot& slot = slots_[slot_of(partition)];
  Leaving leaving{rows_of(partition), slot.dirty_groups};
  slot.partition = kNowhere;
  where_[partition] = kNowhere;
  return leaving;
}

std::uint32_t PartitionBuffer::slot_of(std::uint32_t partition) const {
  if (partition < partitions_ && where_[partition] != kNowhere) return where_[partition];
  throw Error(ErrorCode::kInternal,
              fmt::format("partition {} of an embedding table is not resident", partition),
              "load() it first");
}

PartitionRows PartitionBuffer::rows_of(std::uint32_t partition) const {
  const std::uint32_t slot = slot_of(partition);
  PartitionRows rows;
  rows.first = std::min(partition * rows_each_, layout_.rows);
  rows.count = std::min(rows_each_, layout_.rows - rows.first);
  rows.stride = layout_.row_floats();
  rows.data = {data_of(slot), rows.count * rows.stride};
  return rows;
}

void PartitionBuffer::touch(std::uint32_t partition) {
  std::ranges::fill(slots_[slot_of(partition)].dirty_groups, std::uint8_t{1});
}

void PartitionBuffer::list_rows(const PartitionRows& rows,
                                const std::vector<std::uint8_t>& dirty_groups,
                                std::uint64_t first,
                                std::uint64_t end,
                                std::vector<RowMove>& moves) const {
  const std::uint64_t begin = std::max(first, rows.first);
  const std::uint64_t last = std::min(end, rows.first + rows.count);
  for (std::uint64_t row = begin; row < last; ++row) {
    if (dirty_groups[(row - rows.first) / layout_.rows_per_group] == 0) continue;
    moves.push_back({row, rows.data.data() + (row - rows.first) * rows.stride});
  }
}

ResidentRow PartitionBuffer::find(std::uint64_t row) const {
  const std::uint32_t slot = where_[partition_of(row)];
  if (slot == kNowhere) return {};
  return {data_of(slot) + row % rows_each_ * layout_.row_floats(), slots_[slot].job};
}

void PartitionBuffer::mark_dirty(std::uint64_t row) {
  Slot& slot = slots_[where_[partition_of(row)]];
  slot.dirty_groups[row % rows_each_ / layout_.rows_per_group] = 1;
}

Error PartitionBuffer::not_here(std::uint64_t row) const {
  return Error(ErrorCode::kInternal,
               fmt::format("row {} of an embedding table is in partition {}, which is not resident",
                           row,
                           partition_of(row)),
               "load() it first");
}

void PartitionBuffer::list_dirty(std::uint64_t first,
                                 std::uint64_t end,
                                 std::vector<RowMove>& dirty) const {
  for (std::uint32_t partition = 0; partition < partitions_; ++partition) {
    if (where_[partition] == kNowhere) continue;
    list_rows(rows_of(partition), slots_[where_[partition]].dirty_groups, first, end, dirty);
  }
}

void PartitionBuffer::mark_clean() {
  for (Slot& slot : slots_) std::ranges::fill(slot.dirty_groups, std::uint8_t{0});
}

void PartitionBuffer::grow(const RowLayout& layout) {
  for (const Slot& slot : slots_) {
    if (slot.partition == kNowhere) continue;
    throw Error(ErrorCode::kUsage,
                "an embedding table cannot grow while partitions of it are resident",
                "release() them before");
  }
  layout_ = layout;
  divide();
}

}  // namespace sluice
