#include "prep/layout/glance.h"

#include "prep/table/column_names.h"
#include "prep/table/stray_lines.h"
#include "prep/table/text_cells.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <string_view>

namespace sluice {
namespace {

bool is_real(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kBF16;
}

void take_range(ColumnGlance& column, double value) {
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
  take_range(column, static_cast<double>(value));
  column.ascending = column.ascending && value >= last;
  last = value;
  column.least = std::min(column.least, value);
  column.largest = std::max(column.largest, value);
  column.different.insert(value);
}

void take_missing(ColumnGlance& column) {
  column.missing = true;
  ++column.empty;
}

/// A number that has a point, or that is stored as a float.
void take_real(ColumnGlance& column, double value) {
  constexpr std::size_t kMostClasses = 1 << 16;
  column.integers = false;
  if (std::isnan(value)) return take_missing(column);
  take_range(column, value);
  column.fractions = column.fractions || std::trunc(value) != value;
  if (!column.whole) return;
  column.whole = std::trunc(value) == value && std::abs(value) < 0x1p53 &&
                 column.classes.size() < kMostClasses;
  if (column.whole) column.classes.insert(static_cast<std::int64_t>(value));
}

void take_text(ColumnGlance& column, std::string_view cell, std::int64_t& last) {
  const std::string_view text = trimmed_cell(cell);
  std::int64_t integer = 0;
  double real = 0;
  if (text.empty()) {
    take_missing(column);
  } else if (column.info.words) {
    column.integers = column.numbers = false;  // whatever they look like: they read as nothing else
    column.texts.emplace(text);
  } else if (column.integers && parse_integer_cell(text, integer) == std::errc{}) {
    column.padded = column.padded || (text.size() > 1 && text[0] == '0');
    take_integer(column, integer, last);
  } else if (column.integers && is_beyond(text)) {
    // Names, as hashes are.
    column.beyond = true;
    column.integers = column.numbers = false;
    column.texts.emplace(text);
  } else if (column.numbers && parse_real_cell(text, real) == std::errc{}) {
    column.points = column.points || text.find_first_of(".eE") != text.npos;
    take_real(column, real);
  } else {
    column.integers = column.numbers = false;
    column.texts.emplace(text);
  }
}

void take_values(ColumnGlance& column,
                 const ColumnValues& values,
                 std::size_t rows,
                 const std::vector<std::size_t>& left_out,
                 std::int64_t& last) {
  rows *= column.info.width;
  auto skip = left_out.begin();
  for (std::size_t row = 0; row < rows; ++row) {
    if (skip != left_out.end() && *skip == row) {
      ++skip;
      continue;
    }
    if (!values.text.offsets.empty()) {
      take_text(column, values.text[row], last);
    } else if (!values.integers.empty()) {
      take_integer(column, values.integers[row], last);
    } else if (!values.reals.empty()) {
      column.points = column.points || !std::isnan(values.reals[row]);
      take_real(column, values.reals[row]);
    }
  }
}

/// Whether some of the classes 0, 1, ... to the largest are nowhere.
bool has_gaps(const ColumnGlance& column) {
  const std::size_t unlabelled = column.different.contains(-1) ? 1 : 0;
  return column.different.size() - unlabelled != static_cast<std::size_t>(column.largest + 1);
}

/// Whether numbers that have points, or are stored as floats, are classes 0, 1, ... none of which
/// is nowhere. A table of which only the front was seen may have the others behind it.
bool are_float_classes(const ColumnGlance& column, bool seen_all) {
  std::unordered_set<std::int64_t> all = column.classes;
  all.insert(column.different.begin(), column.different.end());
  all.erase(-1);
  if (!column.whole || all.empty()) return false;
  const auto [least, largest] = std::minmax_element(all.begin(), all.end());
  constexpr std::int64_t kMostFloatClasses = 100'000;
  if (*least < 0 || *largest > kMostFloatClasses) return false;
  return !seen_all || all.size() == static_cast<std::size_t>(*largest) + 1;
}

/// Of one column of numbers that are no integers as they stand.
std::string guess_float_labels(const ColumnGlance& column, bool seen_all, LabelSpec& labels) {
  if (are_float_classes(column, seen_all)) {
    labels.kind = LabelKindChoice::kClass;
    return "Whole numbers from 0 on, though written as floats: classes; \"regression\" if they are "
           "amounts.";
  }
  labels.kind = LabelKindChoice::kRegression;
  if (!column.whole) return "Numbers with fractions: regression.";
  return "Whole numbers, but not all of 0, 1, ... to the largest: amounts to predict, by "
         "regression; "
         "\"class\" or \"name\" if they are classes.";
}

/// Looks for a header among rows of numbers, in text of which the first line is a row. Names there
/// would make ids of text of all columns.
class HeaderSuspect {
 public:
  /// The rows of the chunk that are to be left out for now.
  std::vector<std::size_t> find(const TableReader& table,
                                const TableChunk& chunk,
                                std::size_t rows) {
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < rows && !refuted_; ++row) {
      const std::string_view cell = trimmed_cell(chunk.columns[0].text[row]);
      const bool name = !cell.empty() && (std::isalpha(static_cast<unsigned char>(cell[0])) != 0 ||
                                          static_cast<unsigned char>(cell[0]) >= 0x80);
      if (!name || chunk.first_row + row == 0) continue;
      std::vector<std::string_view> cells;
      cells.reserve(chunk.columns.size());
      for (const ColumnValues& column : chunk.columns)
        cells.push_back(trimmed_cell(column.text[row]));
      const auto hint = header_hint(cells, {});
      if (!hint || (cells.size() == 1 && !is_usual(cells[0]))) continue;
      std::vector<std::string> names(cells.begin(), cells.end());
      refuted_ = !names_.empty() && names != names_;
      if (refuted_) break;
      if (names_.empty()) {
        fault_ = table.value_error(chunk.first_row + row,
                                   table.columns().front().name,
                                   "names stand among rows of numbers: is the line a header?",
                                   *hint);
        names_ = std::move(names);
      }
      found.push_back(row);
    }
    return found;
  }

  /// Throws where all other rows are numbers; else what was left out is of the table.
  void decide(std::vector<ColumnGlance>& columns, const std::vector<std::size_t>& looked) const {
    if (names_.empty()) return;
    const bool numbers = std::all_of(
        looked.begin(), looked.end(), [&](std::size_t i) { return columns[i].numbers; });
    if (numbers && !refuted_ && fault_) throw Error(*fault_);
    std::int64_t last = 0;
    for (std::size_t i = 0; i < looked.size(); ++i) take_text(columns[looked[i]], names_[i], last);
  }

 private:
  static bool is_usual(std::string_view name) {
    for (const std::string_view usual :
         {"label", "labels", "y", "class", "target", "id", "ids", "node", "node_id", "time", "x"})
      if (name == usual) return true;
    return false;
  }

  std::vector<std::string> names_;
  std::optional<Error> fault_;
  bool refuted_ = false;
};

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
  std::vector<ColumnRequest> requests;
  std::vector<std::size_t> looked;
  for (const ColumnInfo& column : table->columns()) {
    glance.columns.emplace_back().info = column;
    const bool pairs = column.width == 2 && column.dtype && !is_real(*column.dtype);
    if (column.width != 1 && !pairs) continue;
    requests.push_back({column.name,
                        type_to_look_at(column),
                        EmptyCell::kMissing,
                        ColumnUse::kOther,
                        BlankLine::kPass});
    looked.push_back(glance.columns.size() - 1);
  }
  if (requests.empty()) {
    glance.rows = table->num_rows().value_or(0);
    return glance;
  }
  std::vector<std::int64_t> last(looked.size(), std::numeric_limits<std::int64_t>::min());
  table->select(requests);
  const bool texts = std::all_of(requests.begin(), requests.end(), [](const auto& request) {
    return request.type == ColumnType::kText;
  });
  HeaderSuspect suspect;
  glance.whole = true;
  for (TableChunk chunk; table->next(chunk);) {
    const std::size_t taken = std::min<std::size_t>(chunk.rows, rows - glance.rows);
    std::vector<std::size_t> left_out;
    if (texts && looked.size() == table->columns().size())
      left_out = suspect.find(*table, chunk, taken);
    for (std::size_t i = 0; i < looked.size(); ++i)
      take_values(glance.columns[looked[i]], chunk.columns[i], taken, left_out, last[i]);
    glance.rows += taken;
    glance.whole = taken == chunk.rows;
    if (!glance.whole) break;
    if (glance.rows == rows) {
      glance.whole = !table->next(chunk);
      break;
    }
  }
  suspect.decide(glance.columns, looked);
  return glance;
}

}  // namespace

TableGlance glance_at(const FileSet& files,
                      const std::string& file,
                      const std::string& format,
                      const TableOptions& options,
                      std::uint64_t rows) {
  const auto table = files.open(file, format, options);
  turn_edges(*table, file);
  return look_at(table, rows);
}

bool looks_like_time(const ColumnGlance& column) {
  // From 1973 to 2100, in seconds and in thousandths, millionths and billionths of them.
  constexpr double kFirst = 1e8, kLast = 4.1e9;
  if (!column.numbers || column.low > column.high) return false;
  for (const double unit : {1.0, 1e3, 1e6, 1e9})
    if (column.low >= kFirst * unit && column.high <= kLast * unit) return true;
  return false;
}

bool ColumnGlance::meets(const ColumnGlance& other) const {
  return std::ranges::any_of(texts, [&](const auto& id) { return other.texts.contains(id); }) ||
         std::ranges::any_of(different,
                             [&](const auto id) { return other.different.contains(id); });
}

bool looks_like_dates(const ColumnGlance& column) {
  if (column.texts.empty() || !column.different.empty()) return false;
  return std::all_of(column.texts.begin(), column.texts.end(), [](const std::string& text) {
    constexpr std::string_view kShape = "0000-00-00";
    if (text.size() < kShape.size() || (text[4] != '-' && text[4] != '/')) return false;
    for (std::size_t i = 0; i < kShape.size(); ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (kShape[i] == '-' ? text[i] != text[4] : !digit) return false;
    }
    return true;
  });
}

TableGlance glance_at_rows(const FileSet& files,
                           const std::string& file,
                           const std::string& format,
                           const TableOptions& options) {
  const auto table = files.open(file, format, options);
  (void)table->turn_sparse({}, SparseEntries::kRefuse);
  return look_at(table, kGlanceRows);
}

std::string guess_labels(const TableGlance& glance, LabelSpec& labels) {
  const auto& columns = glance.columns;
  if (columns.size() == 1) {
    const ColumnGlance& only = columns.front();
    const bool is_float = only.info.dtype && is_real(*only.info.dtype);
    if (only.info.width != 1)
      return is_float
                 ? "Several floats a row: amounts to predict, by regression. Where each row has "
                   "one 1 and else 0, save the place of the 1: classes."
                 : "";
    if (only.info.dtype && !is_float) {  // "auto" tells by the dtype
      if (only.integers && only.least == -1 && only.different.size() == 2)
        return "-1 is no label; where it is a class, say kind = \"name\" and none = [\"\"].";
      if (!are_no_classes(only, glance.whole)) return {};
      labels.kind = LabelKindChoice::kName;
      return "Most of the classes 0, 1, ... to the largest would have no row: names.";
    }
    if (!only.numbers) {
      labels.kind = LabelKindChoice::kName;
    } else if (!only.integers) {
      return guess_float_labels(only, glance.whole, labels);
    } else if (only.least < -1 || only.largest > 1'000'000 || (glance.whole && has_gaps(only))) {
      labels.kind = LabelKindChoice::kName;  // numbers that are no classes 0, 1, ...
    } else if (only.least == -1 && only.different.size() == 2) {
      return "-1 is no label; where it is a class, say kind = \"name\" and none = [\"\"].";
    }
    return {};
  }
  for (const ColumnGlance& column : columns) labels.columns.push_back(column.info.name);
  const bool bits = std::all_of(columns.begin(), columns.end(), [](const ColumnGlance& column) {
    return column.within(0, 1) && !column.missing;
  });
  labels.kind = bits ? LabelKindChoice::kMultiLabel : LabelKindChoice::kRegression;
  if (bits)
    return "Several columns of 0 and 1: many classes a row. Where each row has one 1, save the "
           "place "
           "of the 1: classes.";
  return {};
}

}  // namespace sluice
