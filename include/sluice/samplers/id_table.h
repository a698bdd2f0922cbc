// IdTable: which row a key has, by hashing: open addressing, linear probing, at most half full.
//
// A slot has four bytes: one more than the row and, in the bits that it leaves, some of the key's
// hash, so that few keys but the right one are looked at. The keys lie with their rows: the caller
// hashes them and says whether a row's is the one that is sought; and the slots are the caller's
// memory. RowIndex, NodeTable, TimedNodeTable and InducedSubgraph stand on it. Not thread-safe;
// look-ups may run side by side.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice {

class IdTable {
 public:
  static constexpr std::size_t kNoRow = ~std::size_t{0};

  static std::uint64_t hash_of(std::uint64_t id) {
    return (id ^ (id >> 32)) * 0xd6e8feb86659fd93ull;
  }
  /// Of a list of ids: the hash by row.
  static auto hash_at(std::span<const std::uint64_t> ids) {
    return [ids](std::size_t row) { return hash_of(ids[row]); };
  }
  static std::size_t slots_for(std::size_t rows) {
    return std::bit_ceil(std::max<std::size_t>(2 * rows, 64));
  }

  IdTable() = default;
  /// Over slots that are all 0. @pre a power of two of them, twice the rows or more, at most 2^32
  explicit IdTable(std::span<std::uint32_t> slots)
      : slots_(slots.data()),
        mask_(slots.size() - 1),
        shift_(64 - std::countr_zero(slots.size())) {}

  std::size_t num_slots() const { return slots_ == nullptr ? 0 : mask_ + 1; }

  /// The row with a key of that hash for which is_at(row), or kNoRow. @pre there are slots
  template <class IsAt>
  std::size_t find(std::uint64_t hash, const IsAt& is_at) const {
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask_) {
      const std::uint32_t slot = slots_[at];
      if (slot == 0) return kNoRow;
      if (has_tag(slot, hash) && is_at(row_of(slot))) return row_of(slot);
    }
  }

  /// The same of a list of ids by row.
  std::size_t find_id(std::uint64_t id, std::span<const std::uint64_t> ids) const {
    return find(hash_of(id), [id, ids](std::size_t row) { return ids[row] == id; });
  }

  /// The same, or append(): the row that the key gets, and has from now on. @pre there is room
  template <class IsAt, class Append>
  std::size_t insert(std::uint64_t hash, const IsAt& is_at, const Append& append) {
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask_) {
      std::uint32_t& slot = slots_[at];
      if (slot == 0) {
        const std::size_t row = append();
        slot = slot_of(row, hash);
        return row;
      }
      if (has_tag(slot, hash) && is_at(row_of(slot))) return row_of(slot);
    }
  }

  /// Enters rows [0, rows), of distinct keys. @param hash_at the hash of a row's key. @pre empty
  template <class HashAt>
  void fill(std::size_t rows, const HashAt& hash_at) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t hash = hash_at(row);
      std::size_t at = hash >> shift_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = slot_of(row, hash);
    }
  }

  /// Takes rows [left, rows) out: the newest first, so that no search for another ends too soon.
  template <class HashAt>
  void shrink(std::size_t rows, std::size_t left, const HashAt& hash_at) {
    constexpr std::size_t kFew = 16;  // slots a row: emptied in order, one costs as much
    if (slots_ == nullptr) return;
    if (left == 0 && rows > num_slots() / kFew) {
      std::memset(slots_, 0, num_slots() * sizeof(std::uint32_t));
      return;
    }
    while (rows-- > left) {
      std::size_t at = hash_at(rows) >> shift_;
      while (row_of(slots_[at]) != rows) at = (at + 1) & mask_;
      slots_[at] = 0;
    }
  }

  /// Starts loading the slot that find() and insert() look at first.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(slots_ + (hash >> shift_), 1); }
  /// The row that they are likely to ask is_at() of first, or kNoRow. @pre there are slots
  std::size_t guess(std::uint64_t hash) const {
    const std::uint32_t slot = slots_[hash >> shift_];
    return slot != 0 && has_tag(slot, hash) ? row_of(slot) : kNoRow;
  }

 private:
  // Below, one more than the row, which is less than half of the slots, in as many bits as a home
  // has; above, those of the hash that follow the home's.
  std::uint32_t slot_of(std::size_t row, std::uint64_t hash) const {
    return tag_of(hash) | (static_cast<std::uint32_t>(row) + 1);
  }
  std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32 << (64 - shift_));
  }
  bool has_tag(std::uint32_t slot, std::uint64_t hash) const {
    return ((slot ^ tag_of(hash)) & ~static_cast<std::uint32_t>(mask_)) == 0;
  }
  std::size_t row_of(std::uint32_t slot) const { return (slot & mask_) - 1; }

  std::uint32_t* slots_ = nullptr;  // 0: free
  std::size_t mask_ = 0;
  int shift_ = 63;
};

}  // namespace sluice
