// How the rows of an embedding table lie on disk: whole rows in groups of whole pages.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <algorithm>
#include <cstdint>

namespace sluice {

/// A row is its values and then its state, in floats. A group is the fewest pages that whole rows
/// fill to seven eighths at least: the unit of reading, writing and generations.
struct RowLayout {
  std::uint64_t rows = 0;
  std::uint32_t dim = 0;
  std::uint32_t state = 0;
  std::uint32_t rows_per_group = 1;
  std::uint32_t group_bytes = kPageBytes;

  static RowLayout make(std::uint64_t rows, std::uint32_t dim, std::uint32_t state) {
    RowLayout layout{rows, dim, state};
    const std::uint64_t row_bytes = layout.row_bytes();
    std::uint64_t pages = round_up_to_page(row_bytes) / kPageBytes;
    while (waste(pages, row_bytes) * 8 > pages * kPageBytes) ++pages;
    layout.group_bytes = static_cast<std::uint32_t>(pages * kPageBytes);
    layout.rows_per_group = static_cast<std::uint32_t>(pages * kPageBytes / row_bytes);
    return layout;
  }

  std::uint32_t row_floats() const { return dim + state; }
  std::uint64_t row_bytes() const { return sizeof(float) * std::uint64_t{row_floats()}; }
  std::uint64_t groups() const { return (rows + rows_per_group - 1) / rows_per_group; }
  std::uint32_t group_pages() const { return group_bytes / std::uint32_t{kPageBytes}; }
  std::uint64_t pages() const { return groups() * group_pages(); }
  std::uint64_t bytes() const { return groups() * group_bytes; }

  std::uint64_t group_of(std::uint64_t row) const { return row / rows_per_group; }
  std::uint64_t first_row(std::uint64_t group) const { return group * rows_per_group; }
  /// Rows of a group; fewer in the last.
  std::uint32_t rows_of(std::uint64_t group) const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(rows_per_group, rows - first_row(group)));
  }
  /// Groups of a partition of so many: as many in each but the last ones.
  std::uint64_t groups_each(std::uint32_t partitions) const {
    return std::max<std::uint64_t>((groups() + partitions - 1) / partitions, 1);
  }
  std::uint64_t rows_each(std::uint32_t partitions) const {
    return groups_each(partitions) * rows_per_group;
  }
  std::uint64_t offset_in_group(std::uint64_t row) const {
    return row % rows_per_group * row_bytes();
  }

 private:
  static std::uint64_t waste(std::uint64_t pages, std::uint64_t row_bytes) {
    return pages * kPageBytes % row_bytes;
  }
};

}  // namespace sluice
