#include "storage/embedding/window_cache.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

// Of a slot, besides its row: rows_, jobs_, last_window_, dirty_; found_, victims_, coming_, empty_
// and the lists of an admission, which hold each slot once at most. And the rows of a window that
// is collected (RowWindows): two lists of half as many.
constexpr std::uint64_t kNotesOfSlot = 8 + 8 + 4 + 1 + 4 + 4 + 4 + 4 + 2 * sizeof(RowMove) + 8;

}  // namespace

std::uint64_t WindowCache::bytes_of(std::uint64_t slots, const RowLayout& layout) {
  return round_up_to_page(slots * layout.row_bytes()) + slots * kNotesOfSlot +
         SlotIndex::bytes_of(slots);
}

std::uint64_t WindowCache::slots_in(std::uint64_t bytes, const RowLayout& layout) {
  std::uint64_t fits = 0, too_many = bytes / layout.row_bytes() + 1;
  while (too_many - fits > 1) {
    const std::uint64_t middle = fits + (too_many - fits) / 2;
    (bytes_of(middle, layout) <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

// Rows that come and rows that go are spread alike, and n of each differ by about sqrt(n / 2) on
// the way: this is six times as many.
std::uint64_t WindowCache::spare_of(std::uint64_t slots, std::uint64_t rows) {
  if (slots >= rows) return 0;
  return std::min<std::uint64_t>(
      slots / 16, static_cast<std::uint64_t>(3 * std::sqrt(static_cast<double>(slots))));
}

WindowCache::WindowCache(const RowLayout& layout, std::uint64_t asked, MemoryLedger* ledger)
    : layout_(layout), row_bytes_(layout.row_bytes()), whole_(asked == 0), ledger_(ledger) {
  const std::uint64_t slots = whole_ ? layout.rows : asked;
  if (slots >= SlotIndex::kNoSlot) {
    throw Error(ErrorCode::kUsage,
                fmt::format("an embedding cache of {} rows is larger than can be", slots),
                "give it less memory");
  }
  const std::uint64_t bytes = round_up_to_page(slots * row_bytes_);
  if (ledger != nullptr)
    charge_ = ledger->charge("embedding cache", bytes_of(slots, layout) - bytes).or_throw();
  data_ = std::make_unique<AlignedBuffer>(
      AlignedBuffer::make(bytes, ledger, "embedding cache").or_throw());
  index_ = SlotIndex(slots);
  rows_.resize(slots);
  jobs_.resize(slots);
  last_window_.resize(slots);
  dirty_.resize(slots);
}

WindowCache::Admission WindowCache::admit(std::span<const std::uint64_t> ids, std::uint64_t job) {
  find_slots(ids);
  std::uint64_t missing = 0, also_current = 0;
  for (const std::uint32_t slot : found_) {
    missing += slot == SlotIndex::kNoSlot;
    also_current += slot != SlotIndex::kNoSlot && last_window_[slot] == window_;
  }
  const std::uint64_t needed = current_rows_ + ids.size() - also_current;
  if (needed > slots()) {
    throw Error(
        ErrorCode::kResource,
        fmt::format("two windows of an embedding table need {} rows in memory, its cache of "
                    "{} has room for {}",
                    needed,
                    format_bytes(bytes_of(slots(), layout_)),
                    slots()),
        fmt::format("give the cache at least {}, or make windows smaller",
                    format_bytes_exact(bytes_of(needed, layout_))));
  }
  ++window_;
  current_rows_ = ids.size();
  for (const std::uint32_t slot : found_)
    if (slot != SlotIndex::kNoSlot) last_window_[slot] = window_;

  Admission admission;
  if (missing == 0) return admission;
  make_room(missing, admission);
  admission.reads.reserve(missing);
  auto next = coming_.begin();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (found_[i] != SlotIndex::kNoSlot) continue;
    const std::uint32_t slot = *next++;
    rows_[slot] = ids[i];
    jobs_[slot] = job;
    last_window_[slot] = window_;
    index_.insert(ids[i], slot);
    admission.reads.push_back({ids[i], at(slot)});
  }
  empty_.assign(next, coming_.end());
  return admission;
}

// Slots in the order in which they become free, and more than are wanted now: those left are where
// the next window's first rows go, before any has given way.
void WindowCache::make_room(std::uint64_t wanted, Admission& admission) {
  coming_.assign(empty_.begin(), empty_.end());
  const std::uint64_t with_spare = wanted + spare_of(slots(), layout_.rows);
  while (used_ < slots() && coming_.size() < with_spare) coming_.push_back(used_++);
  choose_victims(with_spare - std::min<std::uint64_t>(with_spare, coming_.size()));
  take_out_victims(admission);
  admission.lead = coming_.size() - admission.writes.size();
}

void WindowCache::find_slots(std::span<const std::uint64_t> ids) {
  constexpr std::size_t kAhead = 8;
  found_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) index_.prefetch(ids[i + kAhead]);
    found_[i] = slot_of(ids[i]);
  }
}

// Of the slots that neither window has, those unused for longest; all, where they are fewer.
void WindowCache::choose_victims(std::size_t count) {
  victims_.clear();
  if (count == 0) return;
  for (std::uint32_t slot = 0; slot < used_; ++slot)
    if (last_window_[slot] + 1 < window_ && last_window_[slot] != 0) victims_.push_back(slot);
  if (victims_.size() <= count) return;
  const auto end = victims_.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(victims_.begin(), end, victims_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(last_window_[a], a) < std::tie(last_window_[b], b);
  });
  victims_.erase(end, victims_.end());
}

// Their slots become free: those of clean rows at once, then those of dirty ones, in the order in
// which they are written.
void WindowCache::take_out_victims(Admission& admission) {
  std::ranges::sort(
      victims_, {}, [this](std::uint32_t slot) { return std::pair(dirty_[slot], rows_[slot]); });
  const auto row_of = [this](std::uint32_t slot) { return rows_[slot]; };
  admission.writes.reserve(static_cast<std::size_t>(
      std::ranges::count_if(victims_, [this](std::uint32_t slot) { return dirty_[slot] != 0; })));
  for (const std::uint32_t slot : victims_) {
    index_.erase(slot, row_of);
    if (dirty_[slot] != 0) admission.writes.push_back({rows_[slot], at(slot)});
    dirty_[slot] = 0;
    last_window_[slot] = 0;
    coming_.push_back(slot);
  }
}

ResidentRow WindowCache::find(std::uint64_t row) const {
  const std::uint32_t slot = slot_of(row);
  if (slot == SlotIndex::kNoSlot || last_window_[slot] + 1 < window_) return {};
  return {at(slot), jobs_[slot]};
}

ResidentRow WindowCache::find_any(std::uint64_t row) const {
  const std::uint32_t slot = slot_of(row);
  return slot == SlotIndex::kNoSlot ? ResidentRow{} : ResidentRow{at(slot), jobs_[slot]};
}

void WindowCache::mark_dirty(std::uint64_t row) {
  dirty_[slot_of(row)] = 1;
}

Error WindowCache::not_here(std::uint64_t row) const {
  return Error(
      ErrorCode::kInternal,
      fmt::format("row {} of an embedding table is in neither of the last two windows", row),
      "expect() it first");
}

void WindowCache::list_dirty(std::uint64_t first,
                             std::uint64_t end,
                             std::vector<RowMove>& dirty) const {
  const std::size_t before = dirty.size();
  for (std::uint32_t slot = 0; slot < used_; ++slot)
    if (dirty_[slot] != 0 && rows_[slot] >= first && rows_[slot] < end)
      dirty.push_back({rows_[slot], at(slot)});
  std::sort(dirty.begin() + static_cast<std::ptrdiff_t>(before),
            dirty.end(),
            [](const RowMove& a, const RowMove& b) { return a.row < b.row; });
}

void WindowCache::mark_clean() {
  std::ranges::fill(dirty_, std::uint8_t{0});
}

void WindowCache::grow(const RowLayout& layout) {
  layout_ = layout;
  if (!whole_) return;
  WindowCache larger(layout, 0, ledger_);
  std::memcpy(larger.data_->data(), data_->data(), std::size_t{used_} * row_bytes_);
  std::ranges::copy(rows_, larger.rows_.begin());
  std::ranges::copy(jobs_, larger.jobs_.begin());
  std::ranges::copy(last_window_, larger.last_window_.begin());
  std::ranges::copy(dirty_, larger.dirty_.begin());
  for (std::uint32_t slot = 0; slot < used_; ++slot)
    if (last_window_[slot] != 0) larger.index_.insert(rows_[slot], slot);
  larger.used_ = used_;
  larger.empty_ = empty_;
  larger.window_ = window_;
  larger.current_rows_ = current_rows_;
  *this = std::move(larger);
}

}  // namespace sluice
