#include "storage/feature/row_directory.h"

#include "core/radix_sort.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice {

namespace {

constexpr std::size_t kAhead =
    16;  // ids whose place in the index is fetched while others are looked up

std::uint64_t words_of(std::uint64_t bits) {
  return (bits + 63) / 64;
}

}  // namespace

// What policies know, the index, and the lists of a call.
std::uint64_t RowDirectory::bytes_of(std::uint64_t slots) {
  return slots * (sizeof(CachedRow) + 4 * sizeof(std::uint32_t)) + SlotIndex::bytes_of(slots) +
         3 * words_of(slots) * sizeof(std::uint64_t);
}

RowDirectory::RowDirectory(std::uint32_t slots,
                           std::uint64_t table_rows,
                           std::unique_ptr<CachePolicy> policy,
                           MemoryLedger* ledger)
    : policy_(std::move(policy)) {
  if (ledger != nullptr)
    charge_ =
        ledger->charge("feature cache", bytes_of(slots) + bytes_of_table(table_rows)).or_throw();
  rows_ = ZeroedArray<CachedRow>(slots);
  index_ = SlotIndex(slots);
  seen_.resize(words_of(table_rows));
  used_now_.resize(words_of(slots));
  used_before_.resize(words_of(slots));
  unused_.resize(words_of(slots));
  free_.reserve(slots);
  candidates_.reserve(slots);
}

void RowDirectory::tell_next_uses(std::uint64_t first, std::span<const std::uint32_t> next_use) {
  for (std::uint32_t slot = 0; slot < used_; ++slot) {
    CachedRow& row = rows_[slot];
    const std::uint64_t at = row.id - first;
    if (at >= next_use.size()) continue;
    expect_use(slot, next_use[at]);
    if (row.next_use != kNeverUsed && row.sought == 0) seek(slot);
  }
}

void RowDirectory::expect_use(std::uint32_t slot, std::uint32_t window) {
  rows_[slot].next_use = window;
  std::uint64_t& word = unused_[slot / 64];
  const std::uint64_t unused = window == kNeverUsed ? 1 : 0;
  word = (word & ~(std::uint64_t{1} << slot % 64)) | unused << slot % 64;
}

// The index has rows alone that may be asked for: of an epoch that is known, few may be.
void RowDirectory::seek(std::uint32_t slot) {
  index_.insert(rows_[slot].id, slot);
  rows_[slot].sought = 1;
}

void RowDirectory::clear() {
  index_.clear();
  std::fill(seen_.begin(), seen_.end(), 0);
  std::fill(used_now_.begin(), used_now_.end(), 0);
  used_ = 0;
  window_ = 1;
  policy_->reset();
}

// Whether the row was here before.
bool RowDirectory::note_seen(std::uint64_t id) {
  if (seen_.empty()) return false;
  const std::uint64_t bit = std::uint64_t{1} << id % 64;
  const bool before = (seen_[id / 64] & bit) != 0;
  seen_[id / 64] |= bit;
  return before;
}

// Finds the ids and notes that they are asked for; lists those that are not here. Returns how many
// the window before asked for too.
std::uint64_t RowDirectory::look_up(std::span<const std::uint64_t> ids,
                                    std::span<const std::uint32_t> next_use,
                                    std::span<std::uint32_t> places,
                                    std::vector<std::uint32_t>& missing) {
  if (used_ == 0) {
    missing.resize(ids.size());
    std::iota(missing.begin(), missing.end(), 0u);
    return 0;
  }
  std::uint64_t hits_window = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + 2 * kAhead < ids.size()) index_.prefetch(ids[i + 2 * kAhead]);
    if (i + kAhead < ids.size()) {
      const std::uint32_t guess = index_.guess(ids[i + kAhead]);
      if (guess != kNoSlot) __builtin_prefetch(&rows_[guess], 1);
    }
    const std::uint32_t slot = index_.find(ids[i], id_of());
    places[i] = slot;
    if (slot == kNoSlot) {
      missing.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    CachedRow& row = rows_[slot];
    hits_window += row.last_use + 1 == window_ ? 1u : 0u;
    row.last_use = window_;
    expect_use(slot, next_use.empty() ? kNeverUsed : next_use[i]);
    ++row.uses;
    note_use(slot);
  }
  return hits_window;
}

// The list of candidates, which is as long and not yet in use, is the room to sort in.
void RowDirectory::sort_by_id(std::vector<std::uint32_t>& missing,
                              std::span<const std::uint64_t> ids) {
  const auto id_of = [&](std::uint32_t i) { return ids[i]; };
  if (std::ranges::is_sorted(missing, {}, id_of)) return;
  candidates_.clear();
  const std::uint32_t* const own = missing.data();
  radix_sort(missing, candidates_, id_of);
  if (missing.data() == own) return;
  missing.swap(candidates_);
  missing.assign(candidates_.begin(), candidates_.end());
}

RowDirectory::Admission RowDirectory::admit(std::span<const std::uint64_t> ids,
                                            std::span<const std::uint32_t> next_use,
                                            const LookAhead* ahead,
                                            std::span<std::uint32_t> places,
                                            std::vector<std::uint32_t>& missing) {
  Admission admission = assign(ids, next_use, ahead, places, missing);
  admission.misses_again = enter(ids, next_use, missing);
  return admission;
}

RowDirectory::Admission RowDirectory::assign(std::span<const std::uint64_t> ids,
                                             std::span<const std::uint32_t> next_use,
                                             const LookAhead* ahead,
                                             std::span<std::uint32_t> places,
                                             std::vector<std::uint32_t>& missing) {
  if (ids.size() > rows_.size()) {
    throw Error(ErrorCode::kResource,
                fmt::format("a window needs {} feature rows, the cache has room for {}",
                            format_count(ids.size()),
                            format_count(rows_.size())),
                "raise [memory] host, or lower batch_size or fanout");
  }
  missing.clear();
  whole_trace_ = !next_use.empty() && ahead == nullptr;
  used_before_.swap(used_now_);
  std::fill(used_now_.begin(), used_now_.end(), 0);
  const std::uint64_t hits_window = look_up(ids, next_use, places, missing);
  sort_by_id(missing, ids);
  Admission admission = make_room(missing.size(), ahead);
  admission.hits = ids.size() - missing.size();
  admission.hits_window = hits_window;
  for (std::size_t m = 0; m < missing.size(); ++m) places[missing[m]] = free_[m];
  return admission;
}

std::uint64_t RowDirectory::enter(std::span<const std::uint64_t> ids,
                                  std::span<const std::uint32_t> next_use,
                                  std::span<const std::uint32_t> missing) {
  std::uint64_t again = 0;
  for (std::size_t m = 0; m < missing.size(); ++m) {
    if (m + kAhead < missing.size()) {
      const std::uint32_t ahead = missing[m + kAhead];
      const std::uint64_t later = ids[ahead];
      if (!whole_trace_ || next_use[ahead] != kNeverUsed) index_.prefetch(later);
      __builtin_prefetch(&rows_[free_[m + kAhead]], 1);
      if (!seen_.empty()) __builtin_prefetch(&seen_[later / 64], 1);
    }
    const std::uint32_t i = missing[m];
    const std::uint32_t slot = free_[m];
    const std::uint32_t next = next_use.empty() ? kNeverUsed : next_use[i];
    rows_[slot] = {ids[i], window_, window_, next, 1, 0};
    expect_use(slot, next);
    if (!whole_trace_ || next != kNeverUsed) seek(slot);
    note_use(slot);
    again += note_seen(ids[i]) ? 1u : 0u;
  }
  ++window_;
  return again;
}

// Of the first `filled` slots, those asked for neither by this window nor by the one before.
std::size_t RowDirectory::count_idle(std::uint32_t filled) const {
  std::size_t busy = 0;
  for (std::uint32_t first = 0; first < filled; first += 64)
    busy +=
        static_cast<std::size_t>(std::popcount(used_now_[first / 64] | used_before_[first / 64]));
  return filled - busy;
}

// Lists the slots, of the first `filled`, that rows may give up: never those of this window, of the
// others those that `of` has, word by word of 64. Returns how many.
template <class Of>
std::size_t RowDirectory::list_candidates(std::uint32_t filled, const Of& of) {
  candidates_.clear();
  for (std::uint32_t first = 0; first < filled; first += 64) {
    std::uint64_t idle = ~used_now_[first / 64] & of(first / 64);
    if (filled - first < 64) idle &= (std::uint64_t{1} << (filled - first)) - 1;
    for (; idle != 0; idle &= idle - 1)
      candidates_.push_back(first + static_cast<std::uint32_t>(std::countr_zero(idle)));
  }
  return candidates_.size();
}

// Those of the candidates that the policy chooses give way.
void RowDirectory::evict(std::size_t count) {
  policy_->choose(rows_, candidates_, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) __builtin_prefetch(&rows_[candidates_[i + 2 * kAhead]]);
    if (i + kAhead < count && rows_[candidates_[i + kAhead]].sought != 0)
      index_.prefetch(rows_[candidates_[i + kAhead]].id);
    if (rows_[candidates_[i]].sought != 0) index_.erase(candidates_[i], id_of());
    free_.push_back(candidates_[i]);
  }
}

// Slots ascend in both parts, and then in all: rows come into the order of their ids.
void RowDirectory::merge_evicted(std::size_t begin, std::size_t count) {
  const auto first = free_.begin() + static_cast<std::ptrdiff_t>(begin);
  auto other = first + static_cast<std::ptrdiff_t>(count);
  candidates_.assign(first, other);
  auto out = first;
  for (const std::uint32_t slot : candidates_) {
    while (other != free_.end() && *other < slot) *out++ = *other++;
    *out++ = slot;
  }
}

// Many rows are of no use any more, and need not be compared with those that are.
void RowDirectory::evict_unused_first(std::uint32_t filled, const Admission& admission) {
  const auto unused = [&](std::size_t word) { return ~used_before_[word] & unused_[word]; };
  const auto others = [&](std::size_t word) { return ~used_before_[word] & ~unused_[word]; };
  const std::size_t first =
      std::min<std::size_t>(list_candidates(filled, unused), admission.evicted);
  evict(first);
  if (first == admission.evicted) return;
  list_candidates(filled, others);
  evict(admission.evicted - first);
  merge_evicted(admission.fresh, first);
}

// Fills free_ with `count` slots: those that no row had yet, then those the policy gives up. Rows
// of the window before stay too, for it may still be read from, unless there are not enough others.
RowDirectory::Admission RowDirectory::make_room(std::size_t count, const LookAhead* ahead) {
  Admission admission;
  free_.clear();
  const std::uint32_t filled = used_;
  while (free_.size() < count && used_ < rows_.size()) free_.push_back(used_++);
  admission.fresh = free_.size();
  admission.evicted = count - free_.size();
  if (admission.evicted == 0) return admission;
  admission.exclusive = count_idle(filled) < admission.evicted;
  if (ahead == nullptr && !admission.exclusive && policy_->takes_unused_first()) {
    evict_unused_first(filled, admission);
    return admission;
  }
  if (admission.exclusive) {
    list_candidates(filled, [](std::size_t) { return ~std::uint64_t{0}; });
  } else {
    list_candidates(filled, [&](std::size_t word) { return ~used_before_[word]; });
  }
  if (ahead != nullptr) {
    for (const std::uint32_t slot : candidates_) expect_use(slot, ahead->next_use(rows_[slot].id));
  }
  evict(admission.evicted);
  return admission;
}

}  // namespace sluice
