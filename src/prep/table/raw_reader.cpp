#include "prep/table/raw_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

void RawReader::Options::describe(Schema& schema) {
  schema
      .choice("dtype",
              dtype,
              {{"i64", DType::kI64, "signed, 64 bits"},
               {"i32", DType::kI32, "signed, 32 bits"},
               {"i8", DType::kI8, "signed, 8 bits"},
               {"u64", DType::kU64, "unsigned, 64 bits"},
               {"u32", DType::kU32, "unsigned, 32 bits"},
               {"u8", DType::kU8, "unsigned, 8 bits"},
               {"f64", DType::kF64, "double precision"},
               {"f32", DType::kF32, "single precision"},
               {"f16", DType::kF16, "half precision"}})
      .help("what an element is, in the machine's byte order");
  schema.field("width", width).range(1, 1 << 24).help("elements a row; 2 for edges");
  schema.field("header", header).range(0, 0x1p40).help("bytes before the first row, skipped");
}

RawReader::RawReader(Options options, const TableSource& source)
    : TableReader(source), options_(options), file_(File::open_read(source.path).or_throw()) {
  const auto width = static_cast<std::uint32_t>(options.width);
  const std::uint64_t row_bytes = width * std::uint64_t{size_of(options.dtype)};
  const std::uint64_t file_bytes = file_.size().or_throw();
  const std::uint64_t header = options.header.bytes;
  const Place place{source.path.string(), -1, -1, -1};
  if (file_bytes < header) {
    throw Error(
        ErrorCode::kData,
        fmt::format("has {} bytes, fewer than the {} that [raw] header skips", file_bytes, header),
        "is this the file, and [raw] header its own?",
        place);
  }
  if ((file_bytes - header) % row_bytes != 0) {
    throw Error(
        ErrorCode::kData,
        fmt::format("{} bytes behind the header are no whole number of rows of {} bytes ({} {})",
                    file_bytes - header,
                    row_bytes,
                    width,
                    to_string(options.dtype)),
        "say [raw] dtype, width and header as the file was written; or it was cut short",
        place);
  }
  rows_ = (file_bytes - header) / row_bytes;
  columns_.push_back({"values", options.dtype, width});
}

void RawReader::select(const std::vector<ColumnRequest>& requests) {
  chunk_rows_ = array_chunk_rows(columns_[0].width * size_of(options_.dtype), rows_);
  column_.emplace(
      *this, columns_[0], only_request(*this, requests), chunk_rows_, source_.ledger, "raw chunks");
}

bool RawReader::next(TableChunk& chunk) {
  if (next_row_ == rows_) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, rows_ - next_row_));
  file_.read_at(options_.header.bytes + next_row_ * column_->row_bytes(), column_->stored(rows))
      .or_throw();
  chunk.first_row = next_row_;
  chunk.rows = rows;
  next_row_ += rows;
  chunk.columns.assign(1, column_->values(chunk.first_row, rows));
  return true;
}

}  // namespace sluice
