#include "storage/embedding/row_windows.h"

#include "storage/embedding/window_cache.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t kAdmittedAtOnce = 2;  // as many windows as a table answers for
constexpr std::uint64_t kRowsOfWord = 64;   // of marks

}  // namespace

std::uint64_t RowWindows::rows_of(std::uint64_t slots, std::uint64_t table_rows) {
  return std::max<std::uint64_t>((slots - WindowCache::spare_of(slots, table_rows)) / 2, 1);
}

std::uint64_t RowWindows::bytes_of_marks(std::uint64_t table_rows) {
  return (table_rows + kRowsOfWord - 1) / kRowsOfWord * sizeof(std::uint64_t);
}

RowWindows::RowWindows(EmbeddingTable& table, Limits limits, MemoryLedger* ledger)
    : table_(table), limits_(limits), ledger_(ledger) {
  const std::uint64_t bytes = bytes_of_marks(table_.rows());
  if (ledger_ != nullptr) marks_charge_ = ledger_->charge("embedding batches", bytes).or_throw();
  marks_.resize(bytes / sizeof(std::uint64_t));
}

void RowWindows::expect(std::span<const std::uint64_t> ids) {
  sort_batch(ids);
  if (windows_.empty() || windows_.back().closed) windows_.emplace_back();
  if (!add_to(windows_.back())) {
    close(windows_.back());
    windows_.emplace_back();
    (void)add_to(windows_.back());
  }
  ++waiting_;
  if (windows_.back().batches >= limits_.batches) close(windows_.back());
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
  if (batch_.empty() || batch_.back() < table_.rows()) return;
  throw Error(ErrorCode::kInternal,
              fmt::format("row {} of an embedding table of {} rows", batch_.back(), table_.rows()),
              "rows are numbered from 0; grow() makes more");
}

// False, with nothing changed, where the window would have too many rows.
bool RowWindows::add_to(Window& window) {
  const auto marked = [this](std::uint64_t row) {
    return (marks_[row / kRowsOfWord] >> row % kRowsOfWord & 1) != 0;
  };
  const auto more = static_cast<std::uint64_t>(batch_.size()) -
                    static_cast<std::uint64_t>(std::ranges::count_if(batch_, marked));
  const std::uint64_t rows = window.rows.size() + more;
  if (window.batches != 0 && rows > limits_.rows) return false;
  if (rows > window.rows.capacity()) {
    const std::uint64_t likely =
        std::max(2 * window.rows.capacity(), limits_.batches * batch_.size());
    window.rows.reserve(std::max(rows, std::min(limits_.rows, likely)));
  }
  for (const std::uint64_t row : batch_) {
    if (marked(row)) continue;
    turn_mark(row);
    window.rows.push_back(row);
  }
  ++window.batches;
  return true;
}

void RowWindows::turn_mark(std::uint64_t row) {
  marks_[row / kRowsOfWord] ^= std::uint64_t{1} << row % kRowsOfWord;
}

// The last, which alone has marks.
void RowWindows::close(Window& window) {
  if (window.closed) return;
  window.closed = true;
  for (const std::uint64_t row : window.rows) turn_mark(row);
  std::ranges::sort(window.rows);
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
  close(windows_.front());
  admit_closed();
  --windows_.front().batches;
  --waiting_;
  if (windows_.size() != 2 || windows_.back().closed) return;
  // Fewer were announced than a window takes: its rows still have to come in time.
  if (2 * windows_.front().batches > windows_.back().batches) return;
  close(windows_.back());
  admit_closed();
}

void RowWindows::forget() {
  if (!windows_.empty()) close(windows_.back());
  windows_.clear();
  waiting_ = 0;
}

bool RowWindows::wants_more() const {
  if (waiting_ >= 2 * limits_.batches) return false;
  return std::ranges::none_of(
      windows_, [](const Window& window) { return window.closed && !window.admitted; });
}

}  // namespace sluice
