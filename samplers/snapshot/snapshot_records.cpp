#include "samplers/snapshot/snapshot_records.h"

#include <algorithm>
#include <utility>

namespace sluice {

Result<SnapshotRecords> SnapshotRecords::make(Array starts, DType dtype, MemoryLedger* ledger) {
  SnapshotRecords records;
  records.size_ = static_cast<std::size_t>(starts.numel()) - 1;
  records.starts_ = std::move(starts);
  records.start_data_ = records.starts_.as<std::uint64_t>().data();
  const auto size = static_cast<std::int64_t>(records.size_);
  const auto entries = static_cast<std::int64_t>(records.num_entries());
  struct Wanted {
    Array* array;
    DType dtype;
    std::int64_t count;
  };
  for (const Wanted& one : {Wanted{&records.entries_, dtype, entries},
                            Wanted{&records.tag_array_, DType::kU64, size},
                            Wanted{&records.marks_, DType::kU64, size / 64 + 1},
                            Wanted{&records.wanted_, DType::kU32, size}}) {
    auto made = Array::make(one.dtype, {one.count}, ledger, "snapshot");
    if (!made) return std::move(made).error();
    *one.array = std::move(made).value();
  }
  if (dtype == DType::kU32) {
    records.narrow_ = records.entries_.as<std::uint32_t>().data();
  } else {
    records.wide_ = records.entries_.as<std::uint64_t>().data();
  }
  records.tags_ = records.tag_array_.as<std::uint64_t>().data();
  std::ranges::fill(records.tag_array_.as<std::uint64_t>(), kEmpty);
  std::ranges::fill(records.marks_.as<std::uint64_t>(), 0);
  records.num_wanted_ = std::make_unique<std::atomic<std::size_t>>(0);
  return records;
}

std::uint64_t SnapshotRecords::bytes() const noexcept {
  return starts_.bytes() + entries_.bytes() + tag_array_.bytes() + marks_.bytes() + wanted_.bytes();
}

std::uint32_t SnapshotRecords::record_of(std::uint64_t entry) const {
  // Records without entries share their start with the next one: the last that begins there has it.
  const auto* end = start_data_ + size_ + 1;
  const auto* after = std::upper_bound(start_data_, end, entry);
  return static_cast<std::uint32_t>(after - start_data_ - 1);
}

void SnapshotRecords::want(std::uint32_t record) {
  std::atomic_ref<std::uint64_t> word(marks_.as<std::uint64_t>()[record / 64]);
  const std::uint64_t bit = std::uint64_t{1} << record % 64;
  // Looked at first: most are on the list already, and a plain read leaves the line to all threads.
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return;
  if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  wanted_.as<std::uint32_t>()[num_wanted_->fetch_add(1, std::memory_order_relaxed)] = record;
}

std::span<const std::uint32_t> SnapshotRecords::wanted() {
  if (size_ == 0) return {};
  const auto list = wanted_.as<std::uint32_t>().first(num_wanted_->load());
  std::ranges::sort(list);
  return list;
}

void SnapshotRecords::clear_wanted() {
  if (size_ == 0) return;
  for (const std::uint32_t record : wanted_.as<std::uint32_t>().first(num_wanted_->load()))
    marks_.as<std::uint64_t>()[record / 64] &= ~(std::uint64_t{1} << record % 64);
  *num_wanted_ = 0;
}

}  // namespace sluice
