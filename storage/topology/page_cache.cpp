#include "storage/topology/page_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint8_t kMaxMarks = 3;
constexpr std::uint8_t kMaxUses = 15;
constexpr int kHandSteps = 16;          // the most slots that are looked at for one page
constexpr std::uint64_t kAgeUses = 16;  // counts are halved after so many uses a slot

// What keeps a page beside its bytes, at most: page_of_ 8, marks_ 1, table_ 16, uses_ 32.
constexpr std::uint64_t kSlotOverhead = 64;

std::uint64_t mix(std::uint64_t page) {
  page = (page ^ (page >> 32)) * 0xd6e8feb86659fd93ull;
  page = (page ^ (page >> 32)) * 0xd6e8feb86659fd93ull;
  return page ^ (page >> 32);
}

}  // namespace

Result<PageCache> PageCache::make(std::uint64_t capacity_bytes,
                                  std::uint64_t num_pages,
                                  MemoryLedger* ledger) {
  PageCache cache;
  const std::uint64_t fit = std::min(
      {capacity_bytes / (kPageBytes + kSlotOverhead), num_pages, std::uint64_t{0x7fffffff}});
  if (fit == 0) return cache;
  if (ledger != nullptr) {
    auto charge = ledger->charge("topology cache", fit * kSlotOverhead);
    if (!charge) return std::move(charge).error();
    cache.charge_ = std::move(charge).value();
  }
  auto pages = AlignedBuffer::make(fit * kPageBytes, ledger, "topology cache");
  if (!pages) return std::move(pages).error();
  cache.pages_ = std::move(pages).value();
  cache.capacity_ = fit;
  cache.page_of_.resize(fit);
  cache.marks_.resize(fit);
  cache.table_.resize(std::bit_ceil(2 * fit));
  cache.uses_.resize(std::bit_ceil(16 * fit));
  return cache;
}

const std::byte* PageCache::find(std::uint64_t page) {
  if (capacity_ == 0) return nullptr;
  count_use(page);
  const std::uint32_t found = table_[place_of(page)];
  if (found == 0) return nullptr;
  const std::size_t slot = found - 1;
  marks_[slot] = std::min<std::uint8_t>(kMaxMarks, static_cast<std::uint8_t>(marks_[slot] + 1));
  return pages_.data() + slot * kPageBytes;
}

void PageCache::offer(std::uint64_t page, const std::byte* bytes) {
  if (size_ < capacity_) return fill(size_++, page, bytes);
  if (capacity_ == 0 || !find_victim()) return;
  const std::size_t victim = hand_;
  hand_ = (hand_ + 1) % capacity_;
  if (uses_of(page) <= uses_of(page_of_[victim])) return;
  drop(victim);
  fill(victim, page, bytes);
}

// CLOCK: the hand goes on to a slot that was not used since it came by.
bool PageCache::find_victim() {
  for (int step = 0; step < kHandSteps; ++step) {
    if (marks_[hand_] == 0) return true;
    --marks_[hand_];
    hand_ = (hand_ + 1) % capacity_;
  }
  return false;
}

std::size_t PageCache::home_of(std::uint64_t page) const {
  return mix(page) & (table_.size() - 1);
}

// Where the page is in the table, or the free place where it would be.
std::size_t PageCache::place_of(std::uint64_t page) const {
  std::size_t at = home_of(page);
  while (table_[at] != 0 && page_of_[table_[at] - 1] != page) at = (at + 1) & (table_.size() - 1);
  return at;
}

void PageCache::fill(std::size_t slot, std::uint64_t page, const std::byte* bytes) {
  std::memcpy(pages_.data() + slot * kPageBytes, bytes, kPageBytes);
  page_of_[slot] = page;
  marks_[slot] = 0;
  table_[place_of(page)] = static_cast<std::uint32_t>(slot + 1);
}

// Takes the slot's page out of the table, and moves those behind it up, so that none is lost behind
// the gap (Knuth, TAOCP 3, 6.4, algorithm R).
void PageCache::drop(std::size_t slot) {
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = place_of(page_of_[slot]);
  for (std::size_t at = (gap + 1) & mask; table_[at] != 0; at = (at + 1) & mask) {
    const std::size_t home = home_of(page_of_[table_[at] - 1]);
    if (((at - home) & mask) < ((at - gap) & mask)) continue;  // its home is behind the gap
    table_[gap] = table_[at];
    gap = at;
  }
  table_[gap] = 0;
}

// Four counters a page, of which the smallest is nearest the truth, so that only it is raised: a
// count-min sketch with conservative update.
std::array<std::size_t, 4> PageCache::counters_of(std::uint64_t page) const {
  const std::uint64_t hash = mix(page + 1);
  const std::uint64_t step = hash >> 32 | 1;
  const std::size_t mask = uses_.size() - 1;
  return {hash & mask, (hash + step) & mask, (hash + 2 * step) & mask, (hash + 3 * step) & mask};
}

void PageCache::count_use(std::uint64_t page) {
  const int before = uses_of(page);
  for (const std::size_t at : counters_of(page)) {
    if (uses_[at] == before && before < kMaxUses) ++uses_[at];
  }
  if (++counted_ < kAgeUses * capacity_) return;
  counted_ = 0;
  for (std::uint8_t& uses : uses_) uses = static_cast<std::uint8_t>(uses / 2);
}

int PageCache::uses_of(std::uint64_t page) const {
  int least = kMaxUses;
  for (const std::size_t at : counters_of(page)) least = std::min<int>(least, uses_[at]);
  return least;
}

}  // namespace sluice
