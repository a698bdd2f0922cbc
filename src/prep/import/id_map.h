// External ids to dense ones: the node that was added n-th is n. Open addressing; all memory is
// charged to the ledger as "id map" and refused by it (kResource) before it is allocated. Finding
// is thread-safe, adding is not.
#pragma once

#include "prep/table/table_values.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/memory.h>
#include <sluice/no_node.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

/// A charged array that grows by half. Its elements move when it does.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray(MemoryLedger& ledger, std::string_view name) : ledger_(&ledger), name_(name) {}

  void reserve(std::uint64_t count) {
    if (count * sizeof(T) <= buffer_.size()) return;
    AlignedBuffer larger = AlignedBuffer::make(count * sizeof(T), ledger_, name_).or_throw();
    if (size_ != 0) std::memcpy(larger.data(), buffer_.data(), size_ * sizeof(T));
    buffer_ = std::move(larger);
  }
  void append(std::span<const T> values) {
    if ((size_ + values.size()) * sizeof(T) > buffer_.size())
      reserve(size_ + values.size() + size_ / 2 + 1024);
    if (!values.empty()) std::memcpy(data() + size_, values.data(), values.size_bytes());
    size_ += values.size();
  }
  void push_back(T value) { append({&value, 1}); }

  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  std::span<const T> values() const { return {reinterpret_cast<const T*>(buffer_.data()), size_}; }
  std::uint64_t size() const { return size_; }

 private:
  MemoryLedger* ledger_;
  std::string name_;
  AlignedBuffer buffer_;
  std::uint64_t size_ = 0;
};

/// Where nodes stand by the hash of their id. A slot holds the node (40 bits, + 1) and 24 bits of
/// the hash, so that an id is looked at only when it is almost surely the one.
class IdSlots {
 public:
  explicit IdSlots(MemoryLedger& ledger) : ledger_(&ledger) {}

  /// The node whose id has this hash and `is_it(node)`; kNoNode when there is none.
  template <class IsIt>
  std::uint64_t find(std::uint64_t hash, IsIt&& is_it) const {
    if (slots_ == 0) return kNoNode;
    for (std::uint64_t at = hash & (slots_ - 1);; at = (at + 1) & (slots_ - 1)) {
      const std::uint64_t slot = table()[at];
      if (slot == 0) return kNoNode;
      if ((slot ^ hash) >> kNodeBits == 0 && is_it((slot & kNodeMask) - 1))
        return (slot & kNodeMask) - 1;
    }
  }
  /// Asks for the memory that find() of this hash begins with.
  void prefetch(std::uint64_t hash) const {
    if (slots_ != 0) __builtin_prefetch(table() + (hash & (slots_ - 1)));
  }
  /// The first node whose id may have this hash; kNoNode when there is none.
  std::uint64_t candidate(std::uint64_t hash) const {
    return find(hash, [](std::uint64_t) { return true; });
  }
  /// Adds the next node. `hash_of(node)` gives the hashes of those that are there, for when the
  /// table grows.
  template <class HashOf>
  void add(std::uint64_t hash, HashOf&& hash_of) {
    if ((used_ + 1) * 4 > slots_ * 3) {
      grow();
      for (std::uint64_t node = 0; node < used_; ++node) put(hash_of(node), node);
    }
    put(hash, used_++);
  }

 private:
  static constexpr int kNodeBits = 40;
  static constexpr std::uint64_t kNodeMask = (std::uint64_t{1} << kNodeBits) - 1;

  const std::uint64_t* table() const {
    return reinterpret_cast<const std::uint64_t*>(buffer_.data());
  }
  void grow();
  void put(std::uint64_t hash, std::uint64_t node);

  MemoryLedger* ledger_;
  AlignedBuffer buffer_;
  std::uint64_t slots_ = 0;  // a power of two
  std::uint64_t used_ = 0;
};

class IntegerIdMap {
 public:
  explicit IntegerIdMap(MemoryLedger& ledger) : slots_(ledger), ids_(ledger, "id map") {}

  std::uint64_t find(std::int64_t id) const;
  /// nodes[i] = find(ids[i]); many at a time, so that the memory is asked for ahead.
  void find_many(std::span<const std::int64_t> ids, std::uint64_t* nodes) const;
  /// The node of an id, a new one for a new id.
  std::uint64_t take(std::int64_t id);
  std::uint64_t size() const { return ids_.size(); }
  std::span<const std::int64_t> ids() const { return ids_.values(); }  ///< by node

 private:
  IdSlots slots_;
  GrowingArray<std::int64_t> ids_;
};

class StringIdMap {
 public:
  explicit StringIdMap(MemoryLedger& ledger)
      : slots_(ledger), offsets_(ledger, "id map"), bytes_(ledger, "id map") {
    offsets_.push_back(0);
  }

  std::uint64_t find(std::string_view id) const;
  /// nodes[i - first] = find(ids[i]) for i of [first, last); many at a time.
  void find_many(const TextValues& ids,
                 std::size_t first,
                 std::size_t last,
                 std::uint64_t* nodes) const;
  /// The node of an id, a new one for a new id.
  std::uint64_t take(std::string_view id);
  std::uint64_t size() const { return offsets_.size() - 1; }
  std::string_view id(std::uint64_t node) const;
  std::span<const std::uint64_t> offsets() const {
    return offsets_.values();
  }  ///< size() + 1 of them
  std::span<const char> bytes() const { return bytes_.values(); }

 private:
  IdSlots slots_;
  GrowingArray<std::uint64_t> offsets_;
  GrowingArray<char> bytes_;
};

}  // namespace sluice
