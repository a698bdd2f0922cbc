#include "storage/feature/panel_table.h"

#include <cstring>

namespace sluice {

void copy_columns(const std::byte* from,
                  std::size_t from_stride,
                  std::byte* to,
                  std::size_t to_stride,
                  std::size_t bytes,
                  std::uint64_t count) {
  for (std::uint64_t row = 0; row < count; ++row, from += from_stride, to += to_stride)
    std::memcpy(to, from, bytes);
}

PanelTable::PanelTable(const std::filesystem::path& folder, const PanelShape& shape, DType dtype)
    : shape_(shape),
      dtype_(dtype),
      width_(size_of(dtype)),
      file_(File::scratch(folder).or_throw()) {}

std::uint64_t PanelTable::offset_of(std::uint32_t panel, std::uint64_t row) const {
  return (std::uint64_t{shape_.begin(panel)} * shape_.rows + row * shape_.width(panel)) * width_;
}

void PanelTable::write_rows(std::uint32_t panel,
                            std::uint64_t first_row,
                            std::span<const std::byte> rows) {
  if (!rows.empty()) file_.write_at(offset_of(panel, first_row), rows).or_throw();
}

void PanelTable::read_panel(std::uint32_t panel, std::span<std::byte> out) const {
  if (!out.empty()) file_.read_at(offset_of(panel, 0), out).or_throw();
}

void PanelTable::read_panel_rows(std::uint32_t panel,
                                 std::uint64_t first_row,
                                 std::span<std::byte> out) const {
  if (!out.empty()) file_.read_at(offset_of(panel, first_row), out).or_throw();
}

void PanelTable::read_rows(std::uint64_t first_row,
                           std::uint64_t count,
                           std::uint32_t end_panel,
                           std::span<std::byte> room,
                           std::span<std::byte> out) const {
  if (count == 0 || end_panel == 0) return;
  const std::size_t row_bytes =
      (shape_.begin(end_panel - 1) + shape_.width(end_panel - 1)) * width_;
  for (std::uint32_t panel = 0; panel < end_panel; ++panel) {
    const std::size_t bytes = shape_.width(panel) * width_;
    const std::span<std::byte> part = room.first(bytes * count);
    file_.read_at(offset_of(panel, first_row), part).or_throw();
    copy_columns(
        part.data(), bytes, out.data() + shape_.begin(panel) * width_, row_bytes, bytes, count);
  }
}

void PanelTable::write_whole_rows(std::uint64_t first_row,
                                  std::span<const std::byte> rows,
                                  std::span<std::byte> room) {
  const std::size_t row_bytes = shape_.columns * width_;
  if (row_bytes == 0) return;
  const std::uint64_t count = rows.size() / row_bytes;
  for (std::uint32_t panel = 0; panel < shape_.panels(); ++panel) {
    const std::size_t bytes = shape_.width(panel) * width_;
    copy_columns(
        rows.data() + shape_.begin(panel) * width_, row_bytes, room.data(), bytes, bytes, count);
    write_rows(panel, first_row, room.first(bytes * count));
  }
}

}  // namespace sluice
