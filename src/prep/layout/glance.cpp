#include "prep/layout/glance.h"

#include "prep/table/column_names.h"
#include "prep/table/text_cells.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

bool is_real(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kBF16;
}

void take_integer(ColumnGlance& column, std::int64_t value, std::int64_t& last) {
  column.ascending = column.ascending && value >= last;
  last = value;
  column.least = std::min(column.least, value);
  column.largest = std::max(column.largest, value);
  column.different.insert(value);
  column.low = std::min(column.low, static_cast<double>(value));
  column.high = std::max(column.high, static_cast<double>(value));
}

void take_missing(ColumnGlance& column) {
  column.missing = true;
  ++column.empty;
}

void take_real(ColumnGlance& column, double value) {
  column.integers = false;
  if (std::isnan(value)) return take_missing(column);
  column.fractions = column.fractions || value != std::nearbyint(value);
  column.low = std::min(column.low, value);
  column.high = std::max(column.high, value);
}

bool all_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

void take_text(ColumnGlance& column, std::string_view cell, std::int64_t& last) {
  const std::string_view text = trimmed_cell(cell);
  std::int64_t integer = 0;
  double real = 0;
  if (text.empty()) {
    take_missing(column);
  } else if (column.integers && parse_integer_cell(text, integer) == std::errc{}) {
    column.padded = column.padded || (text.size() > 1 && text[0] == '0');
    take_integer(column, integer, last);
  } else if (column.numbers && !all_digits(text) && parse_real_cell(text, real) == std::errc{}) {
    take_real(column, real);
  } else if (column.numbers && !column.integers && parse_real_cell(text, real) == std::errc{}) {
    take_real(column, real);
  } else {
    // Digits that 63 bits do not hold are names, as hashes are.
    column.integers = column.numbers = false;
    column.texts.emplace(text);
  }
}

/// Texts of a format that keeps types: no numbers, whatever they look like.
void take_word(ColumnGlance& column, std::string_view text) {
  column.integers = column.numbers = false;
  if (text.empty()) return take_missing(column);
  column.texts.emplace(text);
}

void take_values(ColumnGlance& column,
                 const ColumnValues& values,
                 std::size_t rows,
                 bool words,
                 std::int64_t& last) {
  rows *= column.info.width;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!values.text.offsets.empty()) {
      if (words) {
        take_word(column, values.text[row]);
      } else {
        take_text(column, values.text[row], last);
      }
    } else if (!values.integers.empty()) {
      take_integer(column, values.integers[row], last);
    } else if (!values.reals.empty()) {
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

/// Turns pairs of whole numbers, as those who read edges do.
void turn_edges(TableReader& table, const std::string& file) {
  std::vector<std::string> names;
  for (const ColumnInfo& column : table.columns())
    if (column.dtype && !is_real(*column.dtype) &&
        (says_edge_index(column.name) || table.columns().size() == 1))
      names.push_back(column.name);
  for (const std::string& name : names)
    (void)table.turn_pairs(name,
                           says_edge_index(name) || says_edge_index(base_name(file))
                               ? TwoByTwo::kColumns
                               : TwoByTwo::kRows);
}

/// What a column is asked for. @param beyond u64 as texts, as some are beyond 63 bits
ColumnType type_for(const ColumnInfo& column, bool beyond) {
  if (!column.dtype || (beyond && column.dtype == DType::kU64)) return ColumnType::kText;
  return is_real(*column.dtype) ? ColumnType::kReal : ColumnType::kInteger;
}

TableGlance read_glance(TableReader& table, std::uint64_t rows, bool typed, bool beyond) {
  TableGlance glance;
  std::vector<ColumnRequest> requests;
  std::vector<std::size_t> looked;
  for (const ColumnInfo& column : table.columns()) {
    glance.columns.emplace_back().info = column;
    const bool pairs = column.width == 2 && column.dtype && !is_real(*column.dtype);
    if (column.width != 1 && !pairs) continue;
    requests.push_back({column.name, type_for(column, beyond), EmptyCell::kMissing});
    looked.push_back(glance.columns.size() - 1);
  }
  if (requests.empty()) {
    glance.rows = table.num_rows().value_or(0);
    return glance;
  }
  std::vector<std::int64_t> last(looked.size(), std::numeric_limits<std::int64_t>::min());
  table.select(requests);
  glance.whole = true;
  for (TableChunk chunk; table.next(chunk);) {
    const std::size_t taken = std::min<std::size_t>(chunk.rows, rows - glance.rows);
    for (std::size_t i = 0; i < looked.size(); ++i) {
      ColumnGlance& column = glance.columns[looked[i]];
      const bool words = typed && requests[i].type == ColumnType::kText;
      take_values(column, chunk.columns[i], taken, words, last[i]);
    }
    glance.rows += taken;
    glance.whole = taken == chunk.rows;
    if (!glance.whole) break;
    if (glance.rows == rows) {
      glance.whole = !table.next(chunk);
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
  const std::string read_as = format == "auto" ? files.format_of(file) : format;
  const bool typed = read_as == "parquet" || read_as == "arrow";
  const auto table = files.open(file, format, options);
  turn_edges(*table, file);
  const auto& columns = table->columns();
  const bool unsigned_ids =
      typed && std::any_of(columns.begin(), columns.end(), [](const ColumnInfo& column) {
        return column.dtype == DType::kU64;
      });
  if (!unsigned_ids) return read_glance(*table, rows, typed, false);
  try {
    return read_glance(*table, rows, typed, false);
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::kData) throw;
  }
  const auto anew = files.open(file, format, options);
  turn_edges(*anew, file);
  return read_glance(*anew, rows, typed, true);
}

bool looks_like_time(const ColumnGlance& column) {
  // From 1973 to 2100, in seconds and in thousandths, millionths and billionths of them.
  constexpr double kFirst = 1e8, kLast = 4.1e9;
  if (!column.numbers || column.low > column.high) return false;
  for (const double unit : {1.0, 1e3, 1e6, 1e9})
    if (column.low >= kFirst * unit && column.high <= kLast * unit) return true;
  return false;
}

void guess_labels(const TableGlance& glance, LabelSpec& labels) {
  const auto& columns = glance.columns;
  if (columns.size() == 1) {
    const ColumnGlance& only = columns.front();
    if (only.info.width != 1 || only.info.dtype) return;  // "auto" tells by the dtype
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
