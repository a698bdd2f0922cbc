#include "prep/layout/glance.h"

#include "prep/table/text_cells.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace sluice {
namespace {

bool is_real(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kBF16;
}

void take_real(ColumnGlance& column, double value) {
  if (!std::isfinite(value)) return;
  column.low = std::min(column.low, value);
  column.high = std::max(column.high, value);
}

/// Whether a text is a whole number that 63 bits do not hold.
bool is_beyond(std::string_view text) {
  std::int64_t integer = 0;
  return parse_integer_cell(text, integer) == std::errc::result_out_of_range;
}

void take_integer(ColumnGlance& column, std::int64_t value, std::int64_t& last) {
  take_real(column, static_cast<double>(value));
  column.ascending = column.ascending && value >= last;
  last = value;
  column.least = std::min(column.least, value);
  column.largest = std::max(column.largest, value);
  column.different.insert(value);
}

void take_text(ColumnGlance& column, std::string_view cell, std::int64_t& last) {
  const std::string_view text = trimmed_cell(cell);
  std::int64_t integer = 0;
  double real = 0;
  if (text.empty()) {
    column.missing = true;
  } else if (column.info.words) {
    column.integers = column.numbers = false;  // whatever they look like: they read as nothing else
    column.texts.emplace(text);
  } else if (column.integers && parse_integer_cell(text, integer) == std::errc{}) {
    column.padded = column.padded || (text.size() > 1 && text[0] == '0');
    take_integer(column, integer, last);
  } else if (column.integers && is_beyond(text)) {
    column.beyond = true;
    column.integers = column.numbers = false;
    column.texts.emplace(text);
  } else if (column.numbers && parse_real_cell(text, real) == std::errc{}) {
    column.missing = column.missing || std::isnan(real);
    column.integers = false;
    take_real(column, real);
  } else {
    column.integers = column.numbers = false;
    column.texts.emplace(text);
  }
}

void take_values(ColumnGlance& column,
                 const ColumnValues& values,
                 std::size_t rows,
                 std::int64_t& last) {
  rows *= column.info.width;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!values.text.offsets.empty()) {
      take_text(column, values.text[row], last);
    } else if (!values.integers.empty()) {
      take_integer(column, values.integers[row], last);
    } else if (!values.reals.empty()) {
      column.integers = false;
      column.missing = column.missing || std::isnan(values.reals[row]);
      take_real(column, values.reals[row]);
    }
  }
}

/// Whether some of the classes 0, 1, ... to the largest are nowhere.
bool has_gaps(const ColumnGlance& column) {
  const std::size_t unlabelled = column.different.contains(-1) ? 1 : 0;
  return column.different.size() - unlabelled != static_cast<std::size_t>(column.largest + 1);
}

}  // namespace

namespace {

/// What its values are looked at as: u64 as texts, which hold all of them.
ColumnType type_to_look_at(const ColumnInfo& column) {
  if (!column.dtype || column.dtype == DType::kU64) return ColumnType::kText;
  return is_real(*column.dtype) ? ColumnType::kReal : ColumnType::kInteger;
}

/// Whether whole numbers of an array are no classes 0, 1, 2, ...: most of those would have no row.
/// The largest value of a narrow dtype is likely to stand for no label, which importing says.
bool are_no_classes(const ColumnGlance& column, bool whole) {
  if (!column.integers || column.different.empty()) return column.beyond;
  const bool narrow = column.largest == 127 || column.largest == 255;
  const bool sparse =
      whole && column.different.size() * 2 < static_cast<std::uint64_t>(column.largest) + 1;
  return column.least < -1 || column.largest > 1'000'000 || (sparse && !narrow);
}

TableGlance look_at(const std::unique_ptr<TableReader>& table, std::uint64_t rows) {
  TableGlance glance;
  std::vector<std::string> names;
  for (const ColumnInfo& column : table->columns())
    if (column.dtype && !is_real(*column.dtype) &&
        (column.name == "edge_index" || table->columns().size() == 1))
      names.push_back(column.name);
  for (const std::string& name : names) (void)table->turn_pairs(name);
  std::vector<ColumnRequest> requests;
  std::vector<std::size_t> looked;
  for (const ColumnInfo& column : table->columns()) {
    glance.columns.emplace_back().info = column;
    const bool pairs = column.width == 2 && column.dtype && !is_real(*column.dtype);
    if (column.width != 1 && !pairs) continue;
    requests.push_back({column.name, type_to_look_at(column), EmptyCell::kMissing});
    looked.push_back(glance.columns.size() - 1);
  }
  if (requests.empty()) {
    glance.rows = table->num_rows().value_or(0);
    return glance;
  }
  std::vector<std::int64_t> last(looked.size(), std::numeric_limits<std::int64_t>::min());
  table->select(requests);
  glance.whole = true;
  for (TableChunk chunk; table->next(chunk);) {
    const std::size_t taken = std::min<std::size_t>(chunk.rows, rows - glance.rows);
    for (std::size_t i = 0; i < looked.size(); ++i)
      take_values(glance.columns[looked[i]], chunk.columns[i], taken, last[i]);
    glance.rows += taken;
    glance.whole = taken == chunk.rows;
    if (!glance.whole) break;
    if (glance.rows == rows) {
      glance.whole = !table->next(chunk);
      break;
    }
  }
  return glance;
}

}  // namespace

TableGlance glance_at(const FileSet& files,
                      const std::string& file,
                      const std::string& format,
                      const TableOptions& options,
                      std::uint64_t rows) {
  return look_at(files.open(file, format, options), rows);
}

TableGlance glance_at_rows(const FileSet& files,
                           const std::string& file,
                           const std::string& format,
                           const TableOptions& options) {
  const auto table = files.open(file, format, options);
  (void)table->turn_sparse({}, SparseEntries::kRefuse);
  return look_at(table, kGlanceRows);
}

void guess_labels(const TableGlance& glance, LabelSpec& labels) {
  const auto& columns = glance.columns;
  if (columns.size() == 1) {
    const ColumnGlance& only = columns.front();
    if (only.info.width != 1) return;
    if (only.info.dtype) {  // "auto" tells by the dtype
      if (are_no_classes(only, glance.whole)) labels.kind = LabelKindChoice::kName;
      return;
    }
    if (!only.numbers) {
      labels.kind = LabelKindChoice::kName;
    } else if (!only.integers) {
      labels.kind = LabelKindChoice::kRegression;
    } else if (only.least < -1 || only.largest > 1'000'000 || (glance.whole && has_gaps(only))) {
      labels.kind = LabelKindChoice::kName;  // numbers that are no classes 0, 1, ...
    }
    return;
  }
  for (const ColumnGlance& column : columns) labels.columns.push_back(column.info.name);
  const bool bits = std::all_of(columns.begin(), columns.end(), [](const ColumnGlance& column) {
    return column.within(0, 1) && !column.missing;
  });
  labels.kind = bits ? LabelKindChoice::kMultiLabel : LabelKindChoice::kRegression;
}

}  // namespace sluice
