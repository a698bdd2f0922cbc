// NodeTable: gives the nodes of one type their rows in a batch, in order of first appearance.
//
// Beside the list of ids stands an IdTable or, where set_range() says how many nodes there are and
// memory allows, a slot for each of them: one cache miss an edge and no search. Slots of an IdTable
// are small: where edges are on disk each mini-batch of a group has one. Both are kept for the next
// batch, and the rows are the same. Not thread-safe.
#pragma once

#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/charged_id_table.h>

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
    return static_cast<std::int32_t>(hashed_.insert(
        IdTable::hash_of(id),
        [this, id](std::size_t row) { return ids_.data()[row] == id; },
        [this, id] { return append(id); }));
  }

  /// Starts loading the slot that insert(id) will look at. @pre room was reserved
  void prefetch(std::uint64_t id) const {
    if (const std::uint64_t* const own = own_.data()) return __builtin_prefetch(own + id, 1);
    hashed_.prefetch(IdTable::hash_of(id));
  }
  /// Starts loading what insert(id) looks at after its slot, which is there by now.
  void prefetch_listed(std::uint64_t id) const {
    if (own_.data() != nullptr) return;
    const std::size_t row = hashed_.guess(IdTable::hash_of(id));
    if (row != IdTable::kNoRow) __builtin_prefetch(ids_.data() + row);
  }

  std::size_t size() const noexcept { return size_; }
  std::uint64_t workspace_bytes() const { return workspace_of(own_, hashed_, ids_); }
  /// All ids by row; valid until the next reserve().
  std::span<const std::uint64_t> ids() const { return ids_.first(size_); }

 private:
  std::size_t append(std::uint64_t id) {
    ids_.data()[size_] = id;
    return size_++;
  }
  // An id's own slot: the stamp above, the row below.
  std::int32_t insert_at(std::uint64_t& slot, std::uint64_t id) {
    if (slot >> 32 == stamp_) return static_cast<std::int32_t>(slot);
    const auto row = static_cast<std::uint32_t>(append(id));
    slot = std::uint64_t{stamp_} << 32 | row;
    return static_cast<std::int32_t>(row);
  }

  bool make_own_slots(MemoryLedger* ledger);

  ChargedBuffer<std::uint64_t> own_;  // a slot an id, if there are
  ChargedIdTable hashed_;             // else
  ChargedBuffer<std::uint64_t> ids_;
  std::uint64_t range_ = 0;  // ids that shall get slots of their own
  std::size_t size_ = 0;
  std::uint32_t stamp_ = 1;  // of own slots in use; 0: never used
};

}  // namespace sluice
