#include "prep/table/npy_reader.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

NpyHeader read_header(const File& file) {
  const std::uint64_t file_bytes = file.size().or_throw();
  std::vector<std::byte> front(std::min<std::uint64_t>(file_bytes, kNpyMaxHeaderBytes));
  file.read_at(0, front).or_throw();
  return parse_npy_header(front, file_bytes, file.path().string()).or_throw();
}

}  // namespace

NpyReader::NpyReader(Options /*options*/, const TableSource& source)
    : TableReader(source),
      file_(File::open_read(source.path).or_throw()),
      header_(read_header(file_)) {
  columns_.push_back(
      {"values", header_.dtype, static_cast<std::uint32_t>(header_.width()), header_.truth()});
}

bool NpyReader::turn_pairs(const std::string& /*column*/, TwoByTwo two_by_two) {
  if (!header_.has_turned_pairs(two_by_two == TwoByTwo::kColumns)) return false;
  header_.turn();
  columns_[0].width = static_cast<std::uint32_t>(header_.width());
  return true;
}

void NpyReader::select(const std::vector<ColumnRequest>& requests) {
  const std::uint64_t row_bytes = header_.width() * size_of(header_.dtype);
  chunk_rows_ = array_chunk_rows(row_bytes, header_.rows());
  column_.emplace(
      *this, columns_[0], only_request(*this, requests), chunk_rows_, source_.ledger, "npy chunks");
  if (header_.fortran_order && header_.width() > 1) {
    turned_ = AlignedBuffer::make(chunk_rows_ * row_bytes, source_.ledger, "npy chunks").or_throw();
  }
}

void NpyReader::read_rows(std::uint64_t first, std::size_t rows) {
  const std::span<std::byte> stored = column_->stored(rows);
  const std::size_t element = size_of(header_.dtype);
  const std::uint64_t width = header_.width();
  if (!header_.fortran_order || width <= 1) {
    file_.read_at(header_.data_offset + first * column_->row_bytes(), stored).or_throw();
    return;
  }
  for (std::uint64_t column = 0; column < width; ++column) {
    const std::uint64_t offset = header_.data_offset + (column * header_.rows() + first) * element;
    file_.read_at(offset, turned_.bytes().subspan(column * rows * element, rows * element))
        .or_throw();
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < width; ++column) {
      std::memcpy(stored.data() + (row * width + column) * element,
                  turned_.data() + (column * rows + row) * element,
                  element);
    }
  }
}

bool NpyReader::next(TableChunk& chunk) {
  if (next_row_ == header_.rows()) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, header_.rows() - next_row_));
  read_rows(next_row_, rows);
  chunk.first_row = next_row_;
  chunk.rows = rows;
  next_row_ += rows;
  chunk.columns.assign(1, column_->values(chunk.first_row, rows));
  return true;
}

}  // namespace sluice
