#include "prep/table/array_column.h"

#include "prep/table/stored_numbers.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint64_t kArrayChunkBytes = 4 * kMiB;

AlignedBuffer make_buffer(std::uint64_t bytes, MemoryLedger* ledger, std::string_view name) {
  return AlignedBuffer::make(std::max<std::uint64_t>(bytes, 1), ledger, name).or_throw();
}

}  // namespace

void check_number_request(const TableReader& table, const ColumnInfo& column, ColumnType asked) {
  const auto refuse = [&](const char* wanted, const char* hint) {
    const bool only = table.columns().size() == 1;
    throw Error(ErrorCode::kData,
                fmt::format("{}holds {}, where {} are asked",
                            only ? "" : fmt::format("column '{}' ", column.name),
                            to_string(*column.dtype),
                            wanted),
                hint,
                Place{table.path().string(), -1, -1, -1});
  };
  if (asked == ColumnType::kText)
    refuse("texts",
           "string ids come from CSV, Parquet and Arrow files; for numbers say ids = \"integer\"");
  if (asked == ColumnType::kInteger && is_fraction(*column.dtype))
    refuse("integers", "save a.astype('int64')");
}

const ColumnRequest& only_request(const TableReader& table,
                                  const std::vector<ColumnRequest>& requests) {
  if (requests.size() == 1) return requests.front();
  throw Error(ErrorCode::kData,
              fmt::format("{} columns are needed, the file has one", requests.size()),
              "a table of several columns is a .csv, .parquet or .npz file",
              Place{table.path().string(), -1, -1, -1});
}

std::uint64_t array_chunk_rows(std::uint64_t row_bytes, std::uint64_t rows) {
  return std::clamp<std::uint64_t>(
      kArrayChunkBytes / std::max<std::uint64_t>(row_bytes, 1), 1, std::max<std::uint64_t>(rows, 1));
}

ArrayColumn::ArrayColumn(const TableReader& table,
                         const ColumnInfo& column,
                         const ColumnRequest& request,
                         std::uint64_t chunk_rows,
                         MemoryLedger* ledger,
                         std::string_view name)
    : table_(&table),
      column_(column),
      type_(request.type),
      row_bytes_(column.width * std::uint64_t{size_of(*column.dtype)}) {
  check_number_request(table, column, request.type);
  stored_ = make_buffer(chunk_rows * row_bytes_, ledger, name);
  if (type_ != ColumnType::kRaw)
    converted_ = make_buffer(chunk_rows * column.width * sizeof(double), ledger, name);
}

void ArrayColumn::check_range(std::uint64_t first_row, std::size_t count) const {
  const std::span values(reinterpret_cast<const std::uint64_t*>(stored_.data()), count);
  const std::size_t beyond = first_beyond_int64(values);
  if (beyond == count) return;
  throw table_->value_error(first_row + beyond / column_.width,
                            column_.name,
                            fmt::format("{} is beyond a signed 64-bit integer", values[beyond]),
                            "use smaller numbers");
}

ColumnValues ArrayColumn::values(std::uint64_t first_row, std::size_t rows) {
  const std::size_t count = rows * column_.width;
  ColumnValues view;
  if (type_ == ColumnType::kRaw) {
    view.raw = stored(rows);
  } else if (type_ == ColumnType::kInteger) {
    if (column_.dtype == DType::kU64) check_range(first_row, count);
    const std::span integers(reinterpret_cast<std::int64_t*>(converted_.data()), count);
    widen_to_integers(*column_.dtype, stored_.data(), integers);
    view.integers = integers;
  } else {
    const std::span reals(reinterpret_cast<double*>(converted_.data()), count);
    widen_to_reals(*column_.dtype, stored_.data(), reals);
    view.reals = reals;
  }
  return view;
}

}  // namespace sluice
