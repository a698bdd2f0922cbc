// SlotIndex: which slot of a row cache holds an id. Open addressing, linear probing, at most half
// full, four bytes an entry.
//
// An entry is a slot's number and, in the bits that it leaves, how far the entry lies from its home
// and some bits of the id's hash: so that neither a look-up that finds nothing nor taking an id out
// has to look at the ids themselves, which lie with the slots, each a miss of the processor's
// cache. The caller knows the id of each slot. Not thread-safe; look-ups may run side by side.
#pragma once

#include "core/zeroed_array.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace sluice {

class SlotIndex {
 public:
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  /// Room for ids in slots [0, slots). @pre slots < kNoSlot
  /// @param least_bits of a slot's number, at most 32: as in an index of more slots, for tests
  explicit SlotIndex(std::uint64_t slots = 0, unsigned least_bits = 0)
      : slot_bits_(std::max(static_cast<unsigned>(std::bit_width(slots)), least_bits)),
        far_bits_(std::min(4u, 32 - slot_bits_)),
        hash_bits_(32 - slot_bits_ - far_bits_),
        slot_mask_(low_bits(slot_bits_)),
        hash_mask_(low_bits(hash_bits_)),
        most_far_(low_bits(far_bits_)),
        entries_(entries_for(slots)),
        shift_(64 - static_cast<unsigned>(std::countr_zero(entries_.size()))) {}

  static std::uint64_t bytes_of(std::uint64_t slots) {
    return entries_for(slots) * sizeof(std::uint32_t);
  }

  void clear() {
    if (std::exchange(touched_, false)) std::ranges::fill(entries_, 0u);
  }

  /// The slot of `id`, or kNoSlot. @param id_of the id of a slot that is in the index
  template <class IdOf>
  std::uint32_t find(std::uint64_t id, const IdOf& id_of) const {
    const std::uint64_t hash = hash_of(id);
    for (std::uint64_t at = hash >> shift_; entry_at(at) != kNoSlot; at = after(at)) {
      if (has_hash(entry_at(at), hash) && id_of(slot_of(entry_at(at))) == id)
        return slot_of(entry_at(at));
    }
    return kNoSlot;
  }

  /// @pre neither the id nor the slot is there
  void insert(std::uint64_t id, std::uint32_t slot) {
    const std::uint64_t hash = hash_of(id);
    std::uint64_t at = hash >> shift_;
    std::uint64_t far = 0;
    for (; entry_at(at) != kNoSlot; at = after(at)) ++far;
    set_entry(at, far_to_bits(far) | hash_to_bits(hash) | slot);
    touched_ = true;
  }

  /// Takes the id of a slot out and closes the gap: entries behind it move back where their probe
  /// would have met them. @pre it is there
  template <class IdOf>
  void erase(std::uint32_t slot, const IdOf& id_of) {
    std::uint64_t at = hash_of(id_of(slot)) >> shift_;
    while (slot_of(entry_at(at)) != slot) at = after(at);
    for (std::uint64_t next = after(at); entry_at(next) != kNoSlot; next = after(next)) {
      const std::uint64_t far = far_of(next, id_of);
      const std::uint64_t back = (next - at) & mask();
      if (far < back) continue;
      set_entry(at, (entry_at(next) & ~far_to_bits(kFarthest)) | far_to_bits(far - back));
      at = next;
    }
    set_entry(at, kNoSlot);
  }

  /// Asks for what find(id) looks at first.
  void prefetch(std::uint64_t id) const { __builtin_prefetch(&entries_[hash_of(id) >> shift_]); }
  /// A slot that is likely to be that of `id`, or kNoSlot.
  std::uint32_t guess(std::uint64_t id) const {
    const std::uint64_t hash = hash_of(id);
    const std::uint32_t first = entry_at(hash >> shift_);
    return first != kNoSlot && has_hash(first, hash) ? slot_of(first) : kNoSlot;
  }

 private:
  static constexpr std::uint64_t kFarthest = ~std::uint64_t{0};

  static std::uint64_t entries_for(std::uint64_t slots) { return std::bit_ceil(2 * slots + 2); }
  static std::uint64_t hash_of(std::uint64_t id) { return id * 0x9e3779b97f4a7c15ull; }

  static std::uint64_t low_bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

  // Inverted, so that a place without one is zero: nothing is written before the first.
  std::uint32_t entry_at(std::uint64_t at) const { return ~entries_[at]; }
  void set_entry(std::uint64_t at, std::uint32_t value) { entries_[at] = ~value; }

  std::uint64_t mask() const { return entries_.size() - 1; }
  std::uint64_t after(std::uint64_t at) const { return (at + 1) & mask(); }
  std::uint32_t slot_of(std::uint32_t entry) const {
    return static_cast<std::uint32_t>(entry & slot_mask_);
  }

  // The bits of a hash next to those that say where its home is, in an entry's place for them.
  std::uint32_t hash_to_bits(std::uint64_t hash) const {
    return static_cast<std::uint32_t>((hash >> (shift_ - hash_bits_) & hash_mask_) << slot_bits_);
  }
  bool has_hash(std::uint32_t entry, std::uint64_t hash) const {
    return (entry & hash_mask_ << slot_bits_) == hash_to_bits(hash);
  }

  // How far an entry is from its home; the largest number that fits means "at least".
  std::uint32_t far_to_bits(std::uint64_t far) const {
    return static_cast<std::uint32_t>(std::min(far, most_far_) << (32 - far_bits_));
  }
  template <class IdOf>
  std::uint64_t far_of(std::uint64_t at, const IdOf& id_of) const {
    const std::uint64_t noted = std::uint64_t{entry_at(at)} >> (32 - far_bits_);
    if (noted < most_far_) return noted;
    return (at - (hash_of(id_of(slot_of(entry_at(at)))) >> shift_)) & mask();
  }

  unsigned slot_bits_;
  unsigned far_bits_;
  unsigned hash_bits_;
  std::uint64_t slot_mask_;
  std::uint64_t hash_mask_;
  std::uint64_t most_far_;
  ZeroedArray<std::uint32_t> entries_;
  unsigned shift_;
  bool touched_ = false;  // whether there may be any
};

}  // namespace sluice
