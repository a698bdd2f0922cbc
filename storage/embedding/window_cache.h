// WindowCache: which row of an embedding table is in which slot of memory, from window to window.
//
// A window is admitted while the one before is in use: rows of both stay, rows of older ones give
// way, those longest unused first. The caller (the table) then has the dirty ones among these
// written and the missing ones read, in that order. Decisions depend on the calls alone. Used by
// one thread, but for the bytes of slots that an admission lists, which are the disk thread's until
// its job is done.
#pragma once

#include "storage/embedding/resident_rows.h"
#include "storage/feature/slot_index.h"

#include <sluice/memory.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class WindowCache final : public ResidentRows {
 public:
  /// What the disk has to do before a window is there, as GroupSweep::run() takes it.
  struct Admission {
    std::vector<RowMove> writes, reads;
    std::size_t lead = 0;
  };

  /// Memory for so many slots, with what is known of them.
  static std::uint64_t bytes_of(std::uint64_t slots, const RowLayout& layout);
  /// Slots that are kept free where there are fewer than rows, for as long as two windows leave
  /// them: the rows that come next are read into them before others have given way.
  static std::uint64_t spare_of(std::uint64_t slots, std::uint64_t rows);
  /// The most slots in so many bytes.
  static std::uint64_t slots_in(std::uint64_t bytes, const RowLayout& layout);

  /// Charged as "embedding cache". @param slots 0: as many as the table has rows, also when it
  /// grows. Throws kResource.
  WindowCache(const RowLayout& layout, std::uint64_t slots, MemoryLedger* ledger);

  /// @param ids distinct, ascending, below the table's rows  @param job that does what is returned
  /// Throws kResource, with nothing changed, where the two windows do not fit.
  Admission admit(std::span<const std::uint64_t> ids, std::uint64_t job);

  std::uint64_t slots() const { return rows_.size(); }

  ResidentRow find(std::uint64_t row) const override;
  ResidentRow find_any(std::uint64_t row) const override;
  void mark_dirty(std::uint64_t row) override;
  Error not_here(std::uint64_t row) const override;
  void list_dirty(std::uint64_t first,
                  std::uint64_t end,
                  std::vector<RowMove>& dirty) const override;
  void mark_clean() override;
  void grow(const RowLayout& layout) override;

 private:
  float* at(std::uint32_t slot) const {
    return reinterpret_cast<float*>(data_->data() + std::size_t{slot} * row_bytes_);
  }
  std::uint32_t slot_of(std::uint64_t row) const {
    return index_.find(row, [this](std::uint32_t slot) { return rows_[slot]; });
  }
  void find_slots(std::span<const std::uint64_t> ids);
  void make_room(std::uint64_t wanted, Admission& admission);
  void choose_victims(std::size_t count);
  void take_out_victims(Admission& admission);

  RowLayout layout_;
  std::size_t row_bytes_;
  bool whole_;
  MemoryLedger* ledger_;
  Charge charge_;
  std::unique_ptr<AlignedBuffer> data_;
  SlotIndex index_;
  std::uint32_t used_ = 0;  // slots ever taken: those above are free
  std::uint32_t window_ = 1;
  std::uint64_t current_rows_ = 0;  // of the window announced last
  // By slot.
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> jobs_;
  std::vector<std::uint32_t> last_window_;  // 0: no row is there
  std::vector<std::uint8_t> dirty_;
  // Of the window being admitted.
  std::vector<std::uint32_t> found_;  // its ids' slots
  std::vector<std::uint32_t> victims_;
  std::vector<std::uint32_t> coming_;  // slots that are, or become, free
  std::vector<std::uint32_t> empty_;   // those of them that no row was given
};

}  // namespace sluice
