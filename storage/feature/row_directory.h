// RowDirectory: which slot of a row cache has which row of a feature table, from one window of
// mini-batches to the next. It has no bytes of rows (those are a SlotTable's), so that a plan may
// let it go through windows that are not read yet, and hand it on.
//
// A window is admitted with its distinct row ids: those resident are kept, the others get slots
// whose rows give way by the cache's policy, and the caller reads the missing ones into them. Rows
// of the window before are never evicted, so it may still be read from while the next one is
// filled. The slots' index and what policies know of them are charged to the ledger once, when it
// is made: memory is O(slots), whatever the table's size. Decisions depend on the sequence of calls
// alone, never on timing. Movable; used by one thread at a time.
#pragma once

#include "core/zeroed_array.h"
#include "storage/feature/slot_index.h"

#include <sluice/cache_policy.h>
#include <sluice/memory.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// Whether ids are among those asked for soon; what a policy may look ahead in.
class LookAhead {
 public:
  virtual ~LookAhead() = default;
  /// The next window known to ask for the row, or kNeverUsed.
  virtual std::uint32_t next_use(std::uint64_t id) const = 0;
};

class RowDirectory {
 public:
  static constexpr std::uint32_t kNoSlot = SlotIndex::kNoSlot;

  /// What one window found.
  struct Admission {
    std::uint64_t hits = 0;
    std::uint64_t hits_window = 0;   ///< of these, asked for by the window before too
    std::uint64_t misses_again = 0;  ///< of the others, rows that were here and gave way
    std::uint64_t evicted = 0;
    /// Missing ones that got a slot which no row had before: the first of `missing`, in the order
    /// of the slots.
    std::uint64_t fresh = 0;
    /// Whether rows of the window before gave way: it must be done with before rows are read in.
    bool exclusive = false;
  };

  /// What it takes for so many slots, and besides for the rows of the table.
  static std::uint64_t bytes_of(std::uint64_t slots);
  static std::uint64_t bytes_of_table(std::uint64_t table_rows) {
    return (table_rows + 63) / 64 * 8;
  }

  /// @param table_rows a bit each tells rows that come for the first time from those that come
  /// again; 0: all count as the first
  /// Throws kResource when the ledger has no room ("feature cache").
  RowDirectory(std::uint32_t slots,
               std::uint64_t table_rows,
               std::unique_ptr<CachePolicy> policy,
               MemoryLedger* ledger);

  /// Places the distinct `ids` of the next window. `places[i]` becomes the slot of ids[i];
  /// `missing` lists the indices i whose rows are to be read into theirs, by ascending id. Slots
  /// that no row had before ascend with the ids: who reads rows in the table's order fills fresh
  /// memory in order, page after page.
  /// @param next_use when each id is asked for again, where a trace tells; else empty
  /// @param ahead what is known of later windows without a whole trace. Null beside next uses: the
  /// trace is whole, and a row that it says is never asked for again is not looked for until
  /// tell_next_uses() says otherwise
  /// Throws kResource when the window has more ids than there are slots.
  Admission admit(std::span<const std::uint64_t> ids,
                  std::span<const std::uint32_t> next_use,
                  const LookAhead* ahead,
                  std::span<std::uint32_t> places,
                  std::vector<std::uint32_t>& missing);

  /// The first half of admit(), for rows that are read in at once: slots and missing rows are
  /// known, and `misses_again` is not. enter() must follow before anything else is asked; it may
  /// run on another thread while the missing rows are read into their slots.
  Admission assign(std::span<const std::uint64_t> ids,
                   std::span<const std::uint32_t> next_use,
                   const LookAhead* ahead,
                   std::span<std::uint32_t> places,
                   std::vector<std::uint32_t>& missing);
  /// The second half, with what assign() was given: notes the rows of the slots. Returns the
  /// misses that were here before (Admission::misses_again).
  std::uint64_t enter(std::span<const std::uint64_t> ids,
                      std::span<const std::uint32_t> next_use,
                      std::span<const std::uint32_t> missing);

  /// What is known now of the next uses of rows that are here, instead of what admit() was told:
  /// of the ids from `first` on, one each.
  void tell_next_uses(std::uint64_t first, std::span<const std::uint32_t> next_use);

  /// Forgets all rows and begins to count windows anew.
  void clear();

  /// The number the next window admitted will have.
  std::uint32_t next_window() const { return window_; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(rows_.size()); }
  std::uint32_t resident() const { return used_; }
  const CachePolicy& policy() const { return *policy_; }

 private:
  void sort_by_id(std::vector<std::uint32_t>& missing, std::span<const std::uint64_t> ids);
  std::uint64_t look_up(std::span<const std::uint64_t> ids,
                        std::span<const std::uint32_t> next_use,
                        std::span<std::uint32_t> places,
                        std::vector<std::uint32_t>& missing);
  auto id_of() const {
    return [this](std::uint32_t slot) { return rows_[slot].id; };
  }
  Admission make_room(std::size_t count, const LookAhead* ahead);
  std::size_t count_idle(std::uint32_t filled) const;
  template <class Of>
  std::size_t list_candidates(std::uint32_t filled, const Of& of);
  void evict(std::size_t count);
  void merge_evicted(std::size_t begin, std::size_t count);
  void evict_unused_first(std::uint32_t filled, const Admission& admission);
  void expect_use(std::uint32_t slot, std::uint32_t window);
  void note_use(std::uint32_t slot) { used_now_[slot / 64] |= std::uint64_t{1} << slot % 64; }
  bool note_seen(std::uint64_t id);
  void seek(std::uint32_t slot);

  std::unique_ptr<CachePolicy> policy_;
  Charge charge_;
  ZeroedArray<CachedRow> rows_;      // by slot; those ever filled
  std::vector<std::uint64_t> seen_;  // a bit an id, where the table's rows are told
  SlotIndex index_;
  std::uint32_t used_ = 0;  // slots ever filled: those above are free
  std::uint32_t window_ = 1;
  bool whole_trace_ = false;                // of the window being admitted
  std::vector<std::uint64_t> used_now_;     // a bit a slot: asked for by the window being admitted
  std::vector<std::uint64_t> used_before_;  // by the one before
  std::vector<std::uint64_t> unused_;       // by none that is known
  std::vector<std::uint32_t> free_;         // slots for the window being admitted
  std::vector<std::uint32_t> candidates_;
};

}  // namespace sluice
