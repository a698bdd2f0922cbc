#include "prep/table/row_columns.h"

#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

RowColumns::RowColumns(const std::vector<ColumnInfo>& columns,
                       const std::vector<ColumnRequest>& requests,
                       MemoryLedger& ledger)
    : charge_(ledger.charge("rows of text", (requests.size() + 1) * kRows * sizeof(std::int64_t))
                  .or_throw()),
      into_(columns.size()) {
  const auto positions = positions_of(requests, columns);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    into_[positions[i]].push_back(i);
    Column& column = columns_.emplace_back();
    column.request = requests[i];
    if (requests[i].type == ColumnType::kInteger) column.integers.reserve(kRows);
    if (requests[i].type == ColumnType::kReal) column.reals.reserve(kRows);
    if (requests[i].type == ColumnType::kText) column.offsets.reserve(kRows + 1);
  }
  lines_.reserve(kRows);
  clear();
}

void RowColumns::clear() {
  lines_.clear();
  for (Column& column : columns_) {
    column.integers.clear();
    column.reals.clear();
    column.offsets.clear();
    column.bytes.clear();
    if (column.request.type == ColumnType::kText) column.offsets.push_back(0);
  }
}

void RowColumns::put_text(Column& column, std::string_view text) {
  const std::size_t size = column.bytes.size() + text.size();
  if (size > column.bytes.capacity()) {
    const std::size_t room = std::max<std::size_t>(2 * column.bytes.capacity(), kRows);
    charge_.resize(charge_.bytes() + room - column.bytes.capacity()).or_throw();
    column.bytes.reserve(room);
  }
  column.bytes.insert(column.bytes.end(), text.begin(), text.end());
  column.offsets.push_back(static_cast<std::int32_t>(size));
}

void RowColumns::put(std::size_t column, std::int64_t value) {
  for (const std::size_t i : into_[column]) {
    Column& to = columns_[i];
    if (to.request.type == ColumnType::kInteger) {
      to.integers.push_back(value);
    } else if (to.request.type == ColumnType::kReal) {
      to.reals.push_back(static_cast<double>(value));
    } else {
      put_text(to, fmt::format_int(value).c_str());
    }
  }
}

void RowColumns::put_cell(std::size_t column, std::string_view text, const Place& place) {
  for (const std::size_t i : into_[column]) {
    Column& to = columns_[i];
    if (auto fault = cell_fault(text, to.request)) {
      throw Error(ErrorCode::kData,
                  fmt::format("column '{}': {}", to.request.name, fault->reason),
                  fault->hint,
                  place);
    }
    if (to.request.type == ColumnType::kInteger) {
      (void)parse_integer_cell(text, to.integers.emplace_back());
    } else if (to.request.type == ColumnType::kReal) {
      (void)parse_real_cell(text, to.reals.emplace_back());
    } else {
      put_text(to, text);
    }
  }
}

void RowColumns::view(TableChunk& chunk) const {
  chunk.rows = rows();
  chunk.columns.clear();
  for (const Column& column : columns_) {
    ColumnValues view;
    view.integers = column.integers;
    view.reals = column.reals;
    if (column.request.type == ColumnType::kText) view.text.offsets = column.offsets;
    view.text.bytes = column.bytes.data();
    chunk.columns.push_back(view);
  }
}

}  // namespace sluice
