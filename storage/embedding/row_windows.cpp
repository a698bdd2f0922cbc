#include "storage/embedding/row_windows.h"

#include "storage/embedding/window_cache.h"

#include <sluice/error.h>

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

constexpr std::size_t kAdmittedAtOnce = 2;  // as many windows as a table answers for

}  // namespace

std::uint64_t RowWindows::rows_of(std::uint64_t slots, std::uint64_t table_rows) {
  return std::max<std::uint64_t>((slots - WindowCache::spare_of(slots, table_rows)) / 2, 1);
}

RowWindows::RowWindows(EmbeddingTable& table, Limits limits, MemoryLedger* ledger)
    : table_(table), limits_(limits), ledger_(ledger) {}

void RowWindows::expect(std::span<const std::uint64_t> ids) {
  sort_batch(ids);
  if (windows_.empty() || windows_.back().closed) windows_.emplace_back();
  if (!add_to(windows_.back())) {
    windows_.back().closed = true;
    windows_.emplace_back();
    (void)add_to(windows_.back());
  }
  ++waiting_;
  if (windows_.back().batches >= limits_.batches) windows_.back().closed = true;
  admit_closed();
}

// The lists of a window up to its limit are of the cache's notes; these are those of a mini-batch:
// itself, and a window of it alone, which may be larger.
void RowWindows::sort_batch(std::span<const std::uint64_t> ids) {
  const std::uint64_t bytes = kBytesOfId * ids.size();
  if (ledger_ != nullptr && bytes > charge_.bytes()) {
    if (charge_.bytes() == 0) charge_ = ledger_->charge("embedding batches", 0).or_throw();
    charge_.resize(bytes).or_throw();
  }
  batch_.assign(ids.begin(), ids.end());
  std::ranges::sort(batch_);
  const auto repeats = std::ranges::unique(batch_);
  batch_.erase(repeats.begin(), repeats.end());
}

// False, with nothing changed, where the window would have too many rows.
bool RowWindows::add_to(Window& window) {
  const auto shared = static_cast<std::size_t>(std::ranges::count_if(
      batch_, [&](std::uint64_t row) { return std::ranges::binary_search(window.rows, row); }));
  const std::size_t rows = window.rows.size() + batch_.size() - shared;
  if (window.batches != 0 && rows > limits_.rows) return false;
  merged_.clear();
  merged_.reserve(rows);
  std::ranges::set_union(window.rows, batch_, std::back_inserter(merged_));
  window.rows.swap(merged_);
  ++window.batches;
  return true;
}

// The table has room for the one in use and the next.
void RowWindows::admit_closed() {
  std::size_t admitted = 0;
  for (Window& window : windows_) {
    if (!window.closed || admitted == kAdmittedAtOnce) return;
    ++admitted;
    if (window.admitted) continue;
    table_.expect(window.rows);
    window.admitted = true;
    window.rows = {};
  }
}

void RowWindows::begin() {
  if (waiting_ == 0)
    throw Error(ErrorCode::kInternal,
                "a mini-batch begins whose learned rows were not announced",
                "expect() them first");
  while (windows_.front().batches == 0) windows_.pop_front();
  windows_.front().closed = true;
  admit_closed();
  --windows_.front().batches;
  --waiting_;
  if (windows_.size() != 2 || windows_.back().closed) return;
  // Fewer were announced than a window takes: its rows still have to come in time.
  if (2 * windows_.front().batches > windows_.back().batches) return;
  windows_.back().closed = true;
  admit_closed();
}

void RowWindows::forget() {
  windows_.clear();
  waiting_ = 0;
}

bool RowWindows::wants_more() const {
  if (waiting_ >= 2 * limits_.batches) return false;
  return std::ranges::none_of(
      windows_, [](const Window& window) { return window.closed && !window.admitted; });
}

}  // namespace sluice
