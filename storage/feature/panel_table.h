// PanelTable: rows of numbers by panels of columns, one panel after the other, in a file without a
// name: what is read panel by panel between hops or layers, and row by row at the end.
//
// One thread at a time. Throws Error: kResource for a full disk, kIo.
#pragma once

#include "storage/io/file.h"

#include <sluice/dtype.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace sluice {

/// How the columns of a table are cut.
struct PanelShape {
  std::uint64_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t panel = 1;  ///< columns of a panel; the last may have fewer

  std::uint32_t panels() const { return (columns + panel - 1) / panel; }
  std::uint32_t begin(std::uint32_t at) const { return at * panel; }
  std::uint32_t width(std::uint32_t at) const {
    return at + 1 < panels() ? panel : columns - begin(at);
  }
};

class PanelTable {
 public:
  PanelTable(const std::filesystem::path& folder, const PanelShape& shape, DType dtype);

  const PanelShape& shape() const noexcept { return shape_; }
  DType dtype() const noexcept { return dtype_; }
  std::uint64_t bytes() const { return shape_.rows * shape_.columns * size_of(dtype_); }

  /// Rows of a panel, whole and row-major.
  void write_rows(std::uint32_t panel, std::uint64_t first_row, std::span<const std::byte> rows);
  /// A whole panel, row-major. @pre out is as large as it
  void read_panel(std::uint32_t panel, std::span<std::byte> out) const;
  /// Rows of a panel from `first_row` on, as many as `out` holds, row-major.
  void read_panel_rows(std::uint32_t panel,
                       std::uint64_t first_row,
                       std::span<std::byte> out) const;
  /// Rows of all columns, or of those of the panels before `end_panel`, side by side.
  /// @param room as large as `out`
  void read_rows(std::uint64_t first_row,
                 std::uint64_t count,
                 std::uint32_t end_panel,
                 std::span<std::byte> room,
                 std::span<std::byte> out) const;
  void read_rows(std::uint64_t first_row,
                 std::uint64_t count,
                 std::span<std::byte> room,
                 std::span<std::byte> out) const {
    read_rows(first_row, count, shape_.panels(), room, out);
  }

  /// Cuts whole rows into the panels. @param room as large as the widest panel's part of them
  void write_whole_rows(std::uint64_t first_row,
                        std::span<const std::byte> rows,
                        std::span<std::byte> room);

 private:
  std::uint64_t offset_of(std::uint32_t panel, std::uint64_t row) const;

  PanelShape shape_;
  DType dtype_;
  std::size_t width_;  // of an element
  File file_;
};

/// Copies `count` rows of `bytes` each between two places, `from_stride` and `to_stride` apart.
void copy_columns(const std::byte* from,
                  std::size_t from_stride,
                  std::byte* to,
                  std::size_t to_stride,
                  std::size_t bytes,
                  std::uint64_t count);

}  // namespace sluice
