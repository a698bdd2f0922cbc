#include "prep/table/npz_sparse_rows.h"

#include "core/interrupt.h"
#include "prep/table/add_stored.h"
#include "prep/table/stored_numbers.h"

#include <sluice/units.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sluice {
namespace {

constexpr std::uint64_t kStreamBytes = 4 * kMiB;  // of a window that only moves on
constexpr std::uint64_t kMostWindowBytes = kGiB;

std::uint64_t rows_of_window(const NpzSparse& matrix,
                             std::uint64_t row_bytes,
                             const MemoryLedger* ledger) {
  const std::uint64_t room =
      matrix.by_rows() ? kStreamBytes
                       : std::clamp(ledger->available() / 4, kStreamBytes, kMostWindowBytes);
  return std::clamp<std::uint64_t>(
      room / std::max<std::uint64_t>(row_bytes, 1), 1, std::max<std::uint64_t>(matrix.rows(), 1));
}

}  // namespace

SparseRows::SparseRows(const NpzSparse& matrix, const TableReader& table, MemoryLedger* ledger)
    : matrix_(matrix),
      table_(table),
      dtype_(*matrix.row_column().dtype),
      truth_(matrix.row_column().truth),
      row_bytes_(matrix.row_column().width * std::uint64_t{size_of(dtype_)}),
      window_rows_(rows_of_window(matrix, row_bytes_, ledger)),
      window_(AlignedBuffer::make(std::max<std::uint64_t>(window_rows_ * row_bytes_, 1),
                                  ledger,
                                  "rows of a sparse matrix")
                  .or_throw()) {
  rewind();
}

void SparseRows::rewind() {
  for (std::size_t part = 0; part < std::size(sources_); ++part)
    sources_[part] = matrix_.open(part, table_);
  entries_left_ = matrix_.entries();
  rows_.clear();
  at_ = 0;
}

bool SparseRows::next_block() {
  throw_if_interrupted();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, entries_left_));
  if (count == 0) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const DType stored = *matrix_.columns()[side].dtype;
    stored_.resize(count * size_of(stored));
    sources_[side]->read(stored_);
    std::vector<std::int64_t>& values = side == 0 ? rows_ : columns_;
    values.resize(count);
    widen_to_integers(stored, stored_.data(), values);
  }
  data_.resize(count * size_of(dtype_));
  sources_[2]->read(data_);
  entries_left_ -= count;
  at_ = 0;
  return true;
}

// Entries of rows before `end`; where they come row by row, up to the first that is not.
void SparseRows::add_entries(std::uint64_t end) {
  const std::size_t element = size_of(dtype_);
  for (;;) {
    for (; at_ < rows_.size(); ++at_) {
      const auto row = static_cast<std::uint64_t>(rows_[at_]);
      if (row >= end && matrix_.by_rows()) return;
      if (row < window_begin_ || row >= end) continue;
      std::byte* const to = window_.data() + (row - window_begin_) * row_bytes_ +
                            static_cast<std::uint64_t>(columns_[at_]) * element;
      const std::byte* const value = data_.data() + at_ * element;
      if (truth_) {
        *to |= *value;
      } else {
        add_stored(dtype_, value, to);
      }
    }
    if (!next_block()) return;
  }
}

void SparseRows::fill_window() {
  window_begin_ = window_end_;
  window_end_ = std::min(window_begin_ + window_rows_, matrix_.rows());
  std::memset(window_.data(), 0, (window_end_ - window_begin_) * row_bytes_);
  if (!matrix_.by_rows() && window_begin_ != 0) rewind();
  add_entries(window_end_);
}

void SparseRows::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (next_row_ == window_end_) fill_window();
    const std::uint64_t rows =
        std::min<std::uint64_t>(window_end_ - next_row_, out.size() / row_bytes_);
    const std::uint64_t bytes = rows * row_bytes_;
    std::memcpy(out.data(), window_.data() + (next_row_ - window_begin_) * row_bytes_, bytes);
    next_row_ += rows;
    out = out.subspan(bytes);
  }
}

}  // namespace sluice
