#include "prep/table/array_column.h"

#include "prep/table/column_use.h"
#include "prep/table/stored_numbers.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace sluice {
namespace {

constexpr std::uint64_t kArrayChunkBytes = 4 * kMiB;

AlignedBuffer make_buffer(std::uint64_t bytes, MemoryLedger* ledger, std::string_view name) {
  return AlignedBuffer::make(std::max<std::uint64_t>(bytes, 1), ledger, name).or_throw();
}

/// Characters that a whole number of this dtype has at most.
std::size_t most_digits(DType dtype) {
  const std::size_t bytes = size_of(dtype);
  return bytes == 1 ? 4 : bytes <= 4 ? 11 : 20;
}

}  // namespace

void check_number_request(const TableReader& table,
                          const ColumnInfo& column,
                          const ColumnRequest& request) {
  if (request.use == ColumnUse::kIds) refuse_truths_as_ids(table, column);
  const auto refuse = [&](const char* wanted, const std::string& hint) {
    const bool only = table.columns().size() == 1;
    throw Error(ErrorCode::kData,
                fmt::format("{}holds {}, where {} are asked",
                            only ? "" : fmt::format("column '{}' ", column.name),
                            to_string(*column.dtype),
                            wanted),
                hint,
                Place{table.path().string(), -1, -1, -1});
  };
  if (!is_fraction(*column.dtype)) return;
  if (request.type == ColumnType::kText)
    refuse("texts", "whole numbers can be read as texts: save a.astype('int64')");
  if (request.type == ColumnType::kInteger)
    refuse("integers", hint_for_fraction(request.use, true));
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
  return std::clamp<std::uint64_t>(kArrayChunkBytes / std::max<std::uint64_t>(row_bytes, 1),
                                   1,
                                   std::max<std::uint64_t>(rows, 1));
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
      use_(request.use),
      row_bytes_(column.width * std::uint64_t{size_of(*column.dtype)}) {
  check_number_request(table, column, request);
  stored_ = make_buffer(chunk_rows * row_bytes_, ledger, name);
  const std::uint64_t elements = chunk_rows * column.width;
  if (type_ == ColumnType::kText) {
    converted_ = make_buffer((elements + 1) * sizeof(std::int32_t), ledger, name);
    texts_ = make_buffer(elements * most_digits(*column.dtype), ledger, name);
  } else if (type_ != ColumnType::kRaw) {
    converted_ = make_buffer(elements * sizeof(double), ledger, name);
  }
}

// Whole numbers as texts, each as it is written: u64 beyond int64 too.
TextValues ArrayColumn::decimals(std::size_t count) {
  auto* const offsets = reinterpret_cast<std::int32_t*>(converted_.data());
  auto* const text = reinterpret_cast<char*>(texts_.data());
  char* const most = text + texts_.size();
  char* end = text;
  offsets[0] = 0;
  std::int64_t block[256];
  const std::size_t element = size_of(*column_.dtype);
  for (std::size_t first = 0; first < count; first += std::size(block)) {
    const std::span values = std::span(block).first(std::min(std::size(block), count - first));
    widen_to_integers(*column_.dtype, stored_.data() + first * element, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      end = column_.dtype == DType::kU64
                ? std::to_chars(end, most, static_cast<std::uint64_t>(values[i])).ptr
                : std::to_chars(end, most, values[i]).ptr;
      offsets[first + i + 1] = static_cast<std::int32_t>(end - text);
    }
  }
  return {{offsets, count + 1}, text};
}

void ArrayColumn::check_range(std::uint64_t first_row, std::size_t count) const {
  const std::span values(reinterpret_cast<const std::uint64_t*>(stored_.data()), count);
  const std::size_t beyond = first_beyond_int64(values);
  if (beyond == count) return;
  throw table_->value_error(first_row + beyond / column_.width,
                            column_.name,
                            fmt::format("{} is beyond a signed 64-bit integer", values[beyond]),
                            hint_beyond_integers(use_));
}

ColumnValues ArrayColumn::values(std::uint64_t first_row, std::size_t rows) {
  const std::size_t count = rows * column_.width;
  ColumnValues view;
  if (type_ == ColumnType::kRaw) {
    view.raw = stored(rows);
  } else if (type_ == ColumnType::kText) {
    view.text = decimals(count);
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
