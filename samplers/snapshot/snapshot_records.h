// SnapshotRecords: the memory of a snapshot cache: for each record its edges, its period, and
// whether it is wanted.
//
// want() may be called by several threads at once; the rest by one while nobody calls want().
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/topology.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

class SnapshotRecords {
 public:
  /// What a record takes beside its edges, in bits: where it begins, its tag, its place in the list
  /// of wanted ones, and a mark.
  static constexpr std::uint64_t kBitsARecord = 8 * (8 + 8 + 4) + 1;

  /// What so many records take beside their edges.
  static constexpr std::uint64_t bytes_of(std::uint64_t records) {
    return records * kBitsARecord / 8 + 2 * sizeof(std::uint64_t);
  }

  /// When a record was filled.
  using Tag = std::uint64_t;
  static constexpr Tag kEmpty = 0;

  SnapshotRecords() = default;  ///< no records
  /// @param starts u64 [records + 1]: where each one's entries begin; from 0
  /// @param dtype of entries: kU32 or kU64. Charged as "snapshot". Errors: kResource.
  static Result<SnapshotRecords> make(Array starts, DType dtype, MemoryLedger* ledger);

  std::size_t size() const noexcept { return size_; }
  std::uint64_t num_entries() const { return start_data_ == nullptr ? 0 : start_data_[size_]; }
  std::uint64_t bytes() const noexcept;

  /// The entries of a record.
  EdgeRange entries(std::uint32_t record) const {
    return {start_data_[record], start_data_[record + 1]};
  }
  /// The record that holds an entry.
  std::uint32_t record_of(std::uint64_t entry) const;

  std::uint64_t get(std::uint64_t entry) const {
    return narrow_ != nullptr ? narrow_[entry] : wide_[entry];
  }
  void set(std::uint64_t entry, std::uint64_t id) {
    if (narrow_ != nullptr) {
      narrow_[entry] = static_cast<std::uint32_t>(id);
    } else {
      wide_[entry] = id;
    }
  }
  void prefetch(std::uint64_t entry) const {
    narrow_ != nullptr ? __builtin_prefetch(narrow_ + entry) : __builtin_prefetch(wide_ + entry);
  }

  Tag tag(std::uint32_t record) const { return tags_[record]; }
  void set_tag(std::uint32_t record, Tag tag) { tags_[record] = tag; }

  /// Puts a record on the list of wanted ones, unless it is there.
  void want(std::uint32_t record);
  /// The list, sorted.
  std::span<const std::uint32_t> wanted();
  void clear_wanted();

 private:
  std::size_t size_ = 0;
  Array starts_, entries_, tag_array_, marks_, wanted_;
  const std::uint64_t* start_data_ = nullptr;
  std::uint32_t* narrow_ = nullptr;  // of the two, one is in use
  std::uint64_t* wide_ = nullptr;
  Tag* tags_ = nullptr;
  std::unique_ptr<std::atomic<std::size_t>> num_wanted_;
};

}  // namespace sluice
