// NodeTable: gives the nodes of one type their rows in a batch, in order of first appearance.
//
// Beside the list of ids stands an open-addressing hash table or, where set_range() says how many
// nodes there are and memory allows, a slot for each of them: one cache miss an edge and no search.
// A slot of the hash table has four bytes, the row and in the bits that it leaves some of the id's
// hash, so that few ids but the right one are looked at: where edges are on disk each mini-batch of
// a group has such a table. Both are kept for the next batch, and the rows are the same. Not
// thread-safe.
#pragma once

#include "samplers/charged_buffer.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class NodeTable {
 public:
  /// Rows are 32-bit within a batch.
  static constexpr std::size_t kMaxRows = 0x7fffffff;

  /// From the next reserve() on a slot for each id below `num_ids`, as far as the ledger lets it:
  /// where it does not, a hash table as before. @pre the table is empty
  void set_range(std::uint64_t num_ids) { range_ = num_ids; }
  /// What such slots take.
  static constexpr std::uint64_t range_bytes(std::uint64_t num_ids) {
    return num_ids * sizeof(std::uint64_t);
  }

  /// Forgets all nodes.
  void clear();

  /// Makes room for `count` more nodes. Errors: kResource, from the ledger or beyond kMaxRows;
  /// nodes may then be inserted only after a reserve() that succeeds.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// The row of `id`, a new one when it is not listed yet. @pre room was reserved
  std::int32_t insert(std::uint64_t id) {
    if (std::uint64_t* const own = own_.data()) return insert_at(own[id], id);
    const std::uint64_t hash = hash_of(id);
    for (std::size_t at = hash >> shift_;; at = (at + 1) & mask_) {
      std::uint32_t& slot = slots_.data()[at];
      if (slot == 0) {
        const std::int32_t row = append(id);
        slot = tag_of(hash) | (static_cast<std::uint32_t>(row) + 1);
        return row;
      }
      if (!has_tag(slot, hash)) continue;
      const std::size_t row = row_of(slot);
      if (ids_.data()[row] == id) return static_cast<std::int32_t>(row);
    }
  }

  /// Starts loading the slot that insert(id) will look at. @pre room was reserved
  void prefetch(std::uint64_t id) const {
    const std::uint64_t* const own = own_.data();
    __builtin_prefetch(own != nullptr ? static_cast<const void*>(own + id)
                                      : static_cast<const void*>(slots_.data() + home_of(id)),
                       1);
  }
  /// Starts loading what insert(id) looks at after its slot, which is there by now.
  void prefetch_listed(std::uint64_t id) const {
    if (own_.data() != nullptr) return;
    const std::uint64_t hash = hash_of(id);
    const std::uint32_t slot = slots_.data()[hash >> shift_];
    if (slot != 0 && has_tag(slot, hash)) __builtin_prefetch(ids_.data() + row_of(slot));
  }

  std::size_t size() const noexcept { return size_; }
  std::uint64_t workspace_bytes() const { return workspace_of(own_, slots_, ids_); }
  /// All ids by row; valid until the next reserve().
  std::span<const std::uint64_t> ids() const { return ids_.first(size_); }

 private:
  std::int32_t append(std::uint64_t id) {
    ids_.data()[size_] = id;
    return static_cast<std::int32_t>(size_++);
  }
  // An id's own slot: the stamp above, the row below.
  std::int32_t insert_at(std::uint64_t& slot, std::uint64_t id) {
    if (slot >> 32 == stamp_) return static_cast<std::int32_t>(slot);
    const std::int32_t row = append(id);
    slot = std::uint64_t{stamp_} << 32 | static_cast<std::uint32_t>(row);
    return row;
  }

  static std::uint64_t hash_of(std::uint64_t id) {
    return (id ^ (id >> 32)) * 0xd6e8feb86659fd93ull;
  }
  std::size_t home_of(std::uint64_t id) const { return hash_of(id) >> shift_; }
  // Below, one more than the row, which is less than half of the slots, in as many bits as a home
  // has; above, those of the hash that follow the home's.
  std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32 << (64 - shift_));
  }
  bool has_tag(std::uint32_t slot, std::uint64_t hash) const {
    return ((slot ^ tag_of(hash)) & ~static_cast<std::uint32_t>(mask_)) == 0;
  }
  std::size_t row_of(std::uint32_t slot) const { return (slot & mask_) - 1; }

  void empty_slots();
  Result<void> rebuild(std::size_t num_slots, MemoryLedger* ledger);
  bool make_own_slots(MemoryLedger* ledger);

  ChargedBuffer<std::uint64_t> own_;    // a slot an id, if there are
  ChargedBuffer<std::uint32_t> slots_;  // else hashed; 0: free
  ChargedBuffer<std::uint64_t> ids_;
  std::size_t num_slots_ = 0;  // a power of two, at least twice the rows, at most 2^32
  std::size_t mask_ = 0;
  int shift_ = 63;
  std::uint64_t range_ = 0;  // ids that shall get slots of their own
  std::size_t size_ = 0;
  std::uint32_t stamp_ = 1;  // of own slots in use; 0: never used
};

}  // namespace sluice
