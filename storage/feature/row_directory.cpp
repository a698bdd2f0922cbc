#include "storage/feature/row_directory.h"

#include "core/radix_sort.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice {

namespace {

// Ids whose place in the index is fetched while others are looked up.
constexpr std::size_t kAhead = 16;

std::uint64_t words_of(std::uint64_t bits) {
  return (bits + 63) / 64;
}

// Returns whether the bit was set before.
bool set_bit(std::vector<std::uint64_t>& words, std::uint64_t at) {
  const std::uint64_t bit = std::uint64_t{1} << at % 64;
  const bool before = (words[at / 64] & bit) != 0;
  words[at / 64] |= bit;
  return before;
}

// Sorts the indices of ids by these. @param room to sort in: a list that is as long
void sort_by_id(std::vector<std::uint32_t>& missing,
                std::span<const std::uint64_t> ids,
                std::vector<std::uint32_t>& room) {
  const auto id_of = [&](std::uint32_t i) { return ids[i]; };
  if (std::ranges::is_sorted(missing, {}, id_of)) return;
  room.clear();
  const std::uint32_t* const own = missing.data();
  radix_sort(missing, room, id_of);
  if (missing.data() == own) return;
  missing.swap(room);
  missing.assign(room.begin(), room.end());
}

// From `begin` on, `slots` ascend up to `middle` and from there on, and then in all: rows come into
// the order of their ids. @param room likewise
void merge_slots(std::vector<std::uint32_t>& slots,
                 std::size_t begin,
                 std::size_t middle,
                 std::vector<std::uint32_t>& room) {
  auto out = slots.begin() + static_cast<std::ptrdiff_t>(begin);
  auto other = slots.begin() + static_cast<std::ptrdiff_t>(middle);
  room.assign(out, other);
  for (const std::uint32_t slot : room) {
    while (other != slots.end() && *other < slot) *out++ = *other++;
    *out++ = slot;
  }
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
  rows_ = SlotRows(slots);
  seen_.resize(words_of(table_rows));
  used_now_.resize(words_of(slots));
  used_before_.resize(words_of(slots));
  free_.reserve(slots);
  candidates_.reserve(slots);
}

void RowDirectory::tell_next_uses(std::uint64_t first, std::span<const std::uint32_t> next_use) {
  for (std::uint32_t slot = 0; slot < used_; ++slot) {
    const CachedRow& row = rows_[slot];
    const std::uint64_t at = row.id - first;
    if (at >= next_use.size()) continue;
    rows_.expect_use(slot, next_use[at]);
    if (row.next_use != kNeverUsed && row.sought == 0) rows_.seek(slot);
  }
}

void RowDirectory::clear() {
  rows_.clear();
  std::fill(seen_.begin(), seen_.end(), 0);
  std::fill(used_now_.begin(), used_now_.end(), 0);
  used_ = 0;
  window_ = 1;
  policy_->reset();
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
    if (i + 2 * kAhead < ids.size()) rows_.prefetch(ids[i + 2 * kAhead]);
    if (i + kAhead < ids.size()) rows_.prefetch_found(ids[i + kAhead]);
    const std::uint32_t slot = rows_.find(ids[i]);
    places[i] = slot;
    if (slot == SlotIndex::kNoSlot) {
      missing.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    CachedRow& row = rows_[slot];
    hits_window += row.last_use + 1 == window_ ? 1u : 0u;
    row.last_use = window_;
    rows_.expect_use(slot, next_use.empty() ? kNeverUsed : next_use[i]);
    ++row.uses;
    set_bit(used_now_, slot);
  }
  return hits_window;
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
  if (ids.size() > rows_.slots()) {
    throw Error(ErrorCode::kResource,
                fmt::format("a window needs {} feature rows, the cache has room for {}",
                            format_count(ids.size()),
                            format_count(rows_.slots())),
                "raise [memory] host, or lower batch_size or fanout");
  }
  missing.clear();
  whole_trace_ = !next_use.empty() && ahead == nullptr;
  used_before_.swap(used_now_);
  std::fill(used_now_.begin(), used_now_.end(), 0);
  const std::uint64_t hits_window = look_up(ids, next_use, places, missing);
  sort_by_id(missing, ids, candidates_);  // which are not yet in use
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
      if (!whole_trace_ || next_use[ahead] != kNeverUsed) rows_.prefetch(later);
      rows_.prefetch_slot(free_[m + kAhead]);
      if (!seen_.empty()) __builtin_prefetch(&seen_[later / 64], 1);
    }
    const std::uint32_t i = missing[m];
    const std::uint32_t slot = free_[m];
    const std::uint32_t next = next_use.empty() ? kNeverUsed : next_use[i];
    rows_[slot] = {ids[i], window_, window_, next, 1, 0};
    rows_.expect_use(slot, next);
    if (!whole_trace_ || next != kNeverUsed) rows_.seek(slot);
    set_bit(used_now_, slot);
    again += !seen_.empty() && set_bit(seen_, ids[i]) ? 1u : 0u;
  }
  ++window_;
  return again;
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
  policy_->choose(rows_.all(), candidates_, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) rows_.prefetch_slot(candidates_[i + 2 * kAhead]);
    if (i + kAhead < count && rows_[candidates_[i + kAhead]].sought != 0)
      rows_.prefetch(rows_[candidates_[i + kAhead]].id);
    rows_.forget(candidates_[i]);
    free_.push_back(candidates_[i]);
  }
}

// Many rows are of no use any more, and need not be compared with those that are.
void RowDirectory::evict_unused_first(std::uint32_t filled, const Admission& admission) {
  const auto unused = [&](std::size_t word) { return ~used_before_[word] & rows_.unused(word); };
  const auto others = [&](std::size_t word) { return ~used_before_[word] & ~rows_.unused(word); };
  const std::size_t first =
      std::min<std::size_t>(list_candidates(filled, unused), admission.evicted);
  evict(first);
  if (first == admission.evicted) return;
  list_candidates(filled, others);
  evict(admission.evicted - first);
  merge_slots(free_, admission.fresh, admission.fresh + first, candidates_);
}

// Fills free_ with `count` slots: those that no row had yet, then those the policy gives up. Rows
// of the window before stay too, for it may still be read from, unless there are not enough others.
RowDirectory::Admission RowDirectory::make_room(std::size_t count, const LookAhead* ahead) {
  Admission admission;
  free_.clear();
  const std::uint32_t filled = used_;
  while (free_.size() < count && used_ < rows_.slots()) free_.push_back(used_++);
  admission.fresh = free_.size();
  admission.evicted = count - free_.size();
  if (admission.evicted == 0) return admission;
  std::size_t busy = 0;  // asked for by this window, or by the one before
  for (std::size_t word = 0; word < words_of(filled); ++word)
    busy += static_cast<std::size_t>(std::popcount(used_now_[word] | used_before_[word]));
  admission.exclusive = filled - busy < admission.evicted;
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
    for (const std::uint32_t slot : candidates_)
      rows_.expect_use(slot, ahead->next_use(rows_[slot].id));
  }
  evict(admission.evicted);
  return admission;
}

}  // namespace sluice
