// RowCopy: rows copied one after another to places all over a table too large for the processor's
// caches. Rows of whole lines go there past them; for others, lines are asked for some rows ahead.
#pragma once

#include "core/stream_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

class RowCopy {
 public:
  static constexpr std::size_t kAhead = 6;  ///< rows

  /// @param table rows of `row_bytes`, place after place; borrowed
  RowCopy(std::byte* table, std::size_t row_bytes)
      : table_(table), row_bytes_(row_bytes), streams_(is_whole_lines(table, row_bytes)) {}
  RowCopy(const RowCopy&) = delete;
  RowCopy& operator=(const RowCopy&) = delete;
  /// From here on others may be told that the rows are there.
  ~RowCopy() {
    if (streams_) stream_fence();
  }

  /// A row will be copied there, kAhead rows from now.
  void expect(std::uint64_t place) const {
    if (streams_) return;
    constexpr std::size_t kMost = 8 * kLineBytes;  // beyond, the processor follows by itself
    for (std::size_t line = 0; line < std::min(row_bytes_, kMost); line += kLineBytes)
      __builtin_prefetch(at(place) + line, 1);
  }

  void copy(std::uint64_t place, const std::byte* row) {
    if (streams_) {
      stream_lines(at(place), row, row_bytes_);
    } else {
      std::memcpy(at(place), row, row_bytes_);
    }
  }

 private:
  std::byte* at(std::uint64_t place) const { return table_ + place * row_bytes_; }

  std::byte* table_;
  std::size_t row_bytes_;
  bool streams_;
};

}  // namespace sluice
