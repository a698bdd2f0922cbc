#include "prep/import/label_coder.h"

#include "prep/table/column_use.h"
#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace sluice {
namespace {

bool holds_fractions(const ColumnInfo& column) {
  return column.dtype == DType::kF16 || column.dtype == DType::kF32 || column.dtype == DType::kF64;
}

std::vector<ColumnInfo> label_columns(const TableReader& table, const LabelSpec& spec) {
  std::vector<ColumnInfo> columns;
  columns.reserve(spec.columns.size());
  for (const std::string& name : spec.columns) columns.push_back(table.column(name, 0));
  if (!columns.empty()) return columns;
  const std::size_t first =
      !spec.id_column.empty() && table.columns().front().name == spec.id_column ? 1 : 0;
  return {table.column({}, first)};
}

LabelKind decide_kind(const LabelSpec& spec, const ColumnInfo& column, std::uint32_t width) {
  switch (spec.kind) {
    case LabelKindChoice::kClass:
    case LabelKindChoice::kName:
      return LabelKind::kClass;
    case LabelKindChoice::kMultiLabel:
      return LabelKind::kMultiLabel;
    case LabelKindChoice::kRegression:
      return LabelKind::kRegression;
    case LabelKindChoice::kAuto:
      break;
  }
  if (holds_fractions(column)) return LabelKind::kRegression;
  return width == 1 ? LabelKind::kClass : LabelKind::kMultiLabel;
}

}  // namespace

void sort_label_names(std::vector<std::string>& names) {
  const auto number_of = [](const std::string& name) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool whole = problem == std::errc{} && end == name.data() + name.size();
    return whole ? std::optional(number) : std::nullopt;
  };
  const bool numbers = std::all_of(
      names.begin(), names.end(), [&](const std::string& name) { return number_of(name); });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return numbers && number_of(a) != number_of(b) ? number_of(a) < number_of(b) : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

LabelCoder::LabelCoder(const TableReader& table,
                       const LabelSpec& spec,
                       const std::vector<std::string>& names)
    : table_(table), names_(names), classes_(spec.classes), none_(spec.none) {
  for (std::size_t i = 0; i < names_.size(); ++i)
    classes_by_name_.emplace(names_[i], static_cast<std::int32_t>(i));
  const std::vector<ColumnInfo> columns = label_columns(table, spec);
  const Place place{table.path().string(), -1, -1, -1};
  matrix_ = columns.size() == 1 && columns[0].width != 1;
  width_ = matrix_ ? columns[0].width : static_cast<std::uint32_t>(columns.size());
  for (const ColumnInfo& column : columns) {
    if (matrix_ || column.width == 1) continue;
    throw Error(
        ErrorCode::kData,
        fmt::format(
            "column '{}' has {} numbers a row, beside other columns", column.name, column.width),
        "name it alone in labels.columns, or only columns of one number a row",
        place);
  }
  if (width_ == 0)
    throw Error(
        ErrorCode::kData, "the labels have no columns (dimension 0)", "leave labels out", place);
  kind_ = decide_kind(spec, columns[0], width_);
  if (kind_ == LabelKind::kClass && width_ != 1) {
    throw Error(ErrorCode::kData,
                fmt::format("class labels are one number a row, this has {}", width_),
                "say kind = \"multi_label\" or \"regression\", or name one column",
                place);
  }
  if (!none_.empty() && kind_ == LabelKind::kMultiLabel)
    throw Error(ErrorCode::kData,
                "labels.none is of one label a row, and these are many (multi_label)",
                "leave labels.none out",
                place);
  choose_requests(spec, columns);
}

void LabelCoder::choose_requests(const LabelSpec& spec, const std::vector<ColumnInfo>& columns) {
  const bool text = !columns[0].dtype, fractions = holds_fractions(columns[0]);
  const bool by_name = spec.kind == LabelKindChoice::kName;
  // Classes may be stored, or written, as floats, so that NaN can say that there is none.
  const bool real_classes =
      kind_ == LabelKind::kClass && (fractions ? spec.kind != LabelKindChoice::kAuto : text);
  const bool reals = kind_ == LabelKind::kRegression || real_classes ||
                     (kind_ == LabelKind::kMultiLabel && fractions);
  ColumnType type = reals ? ColumnType::kReal : ColumnType::kInteger;
  // Words among numbers have to be seen; and names are texts, however long their digits are.
  if (text && (by_name || none_.has_words())) type = ColumnType::kText;
  if (by_name && columns[0].dtype == DType::kU64) type = ColumnType::kText;
  const EmptyCell empty =
      kind_ == LabelKind::kMultiLabel ? EmptyCell::kRefuse : EmptyCell::kMissing;
  const ColumnUse use = kind_ == LabelKind::kClass        ? ColumnUse::kClasses
                        : kind_ == LabelKind::kMultiLabel ? ColumnUse::kBits
                                                          : ColumnUse::kTargets;
  for (const ColumnInfo& column : columns) requests_.push_back({column.name, type, empty, use});
}

std::size_t label_row_bytes(const LabelSchema& schema) {
  switch (schema.kind) {
    case LabelKind::kClass:
      return sizeof(std::int32_t);
    case LabelKind::kMultiLabel:
      return (schema.width + 7) / 8;
    case LabelKind::kRegression:
      break;
  }
  return schema.width * sizeof(float);
}

std::size_t LabelCoder::row_bytes() const {
  return label_row_bytes({kind_, width_});
}

void write_missing_label(const LabelSchema& schema, std::span<std::byte> row) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (schema.kind == LabelKind::kClass) std::memset(row.data(), 0xff, row.size());
  if (schema.kind == LabelKind::kMultiLabel) std::memset(row.data(), 0, row.size());
  if (schema.kind != LabelKind::kRegression) return;
  for (std::size_t i = 0; i < schema.width; ++i)
    std::memcpy(row.data() + i * sizeof(float), &kNaN, sizeof(float));
}

void LabelCoder::write_missing(std::span<std::byte> row) const {
  write_missing_label({kind_, width_}, row);
}

bool LabelCoder::encode(const TableChunk& chunk,
                        std::size_t first_column,
                        std::size_t row,
                        std::span<std::byte> out) {
  switch (kind_) {
    case LabelKind::kClass:
      return names_.empty() ? encode_class(chunk, first_column, row, out)
                            : encode_name(chunk, first_column, row, out);
    case LabelKind::kMultiLabel:
      return encode_bits(chunk, first_column, row, out);
    case LabelKind::kRegression:
      return encode_targets(chunk, first_column, row, out);
  }
  return false;
}

LabelSchema LabelCoder::schema() const {
  if (kind_ == LabelKind::kMultiLabel) return {kind_, width_, column_names()};
  if (kind_ != LabelKind::kClass) return {kind_, width_};
  if (!names_.empty()) return {kind_, static_cast<std::uint32_t>(names_.size()), names_};
  const std::int64_t classes = classes_ != 0 ? classes_ : largest_ + 1;
  if (classes == 0) {
    throw Error(ErrorCode::kData,
                "no node has a label",
                "leave labels out, or say classes = ...",
                Place{table_.path().string(), -1, -1, -1});
  }
  return {kind_, static_cast<std::uint32_t>(classes)};
}

/// What the columns are called, a class each; none where they are a matrix, or have no names of
/// their own.
std::vector<std::string> LabelCoder::column_names() const {
  std::vector<std::string> names;
  if (matrix_) return names;
  for (const ColumnRequest& request : requests_) names.push_back(request.name);
  const bool numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.size() > 1 && name[0] == 'c' &&
           name.find_first_not_of("0123456789", 1) == std::string::npos;
  });
  return numbers ? std::vector<std::string>() : names;
}

bool LabelCoder::is_none(const ColumnValues& values, std::size_t at) const {
  if (none_.empty()) return false;
  if (!values.integers.empty()) return none_.has(static_cast<double>(values.integers[at]));
  return values.reals.empty() ? none_.has(values.text[at]) : none_.has(values.reals[at]);
}

std::string LabelCoder::name(const ColumnValues& values, std::size_t row) {
  if (is_none(values, row)) {
    ++none_rows_;
    return {};
  }
  if (!values.integers.empty()) return std::to_string(values.integers[row]);
  if (values.reals.empty()) return std::string(values.text[row]);
  return std::isnan(values.reals[row]) ? std::string() : fmt::format("{}", values.reals[row]);
}

/// A cell as a number, whatever it was asked for as; NaN where there is no label.
double LabelCoder::number(const TableChunk& chunk,
                          std::size_t first_column,
                          std::size_t row,
                          std::uint32_t element) {
  const ColumnValues& values = chunk.columns[matrix_ ? first_column : first_column + element];
  const std::size_t at = matrix_ ? row * width_ + element : row;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (is_none(values, at)) {
    ++none_rows_;
    return kNone;
  }
  if (!values.reals.empty()) return values.reals[at];
  if (!values.integers.empty()) return static_cast<double>(values.integers[at]);
  const std::string_view cell = trimmed_cell(values.text[at]);
  double value = kNone;
  if (!cell.empty() && parse_real_cell(cell, value) != std::errc{})
    fail(chunk,
         row,
         element,
         fmt::format("{} is not a number", shown_cell(cell)),
         hint_for_text(requests_[0].use));
  return value;
}

std::int64_t LabelCoder::integer(const TableChunk& chunk,
                                 std::size_t first_column,
                                 std::size_t row,
                                 std::uint32_t element) const {
  return matrix_ ? chunk.columns[first_column].integers[row * width_ + element]
                 : chunk.columns[first_column + element].integers[row];
}

void LabelCoder::fail(const TableChunk& chunk,
                      std::size_t row,
                      std::uint32_t element,
                      const std::string& reason,
                      const std::string& hint) const {
  const std::string where = matrix_ ? fmt::format("element {}: ", element) : "";
  throw table_.value_error(
      chunk.first_row + row, requests_[matrix_ ? 0 : element].name, where + reason, hint);
}

bool LabelCoder::encode_name(const TableChunk& chunk,
                             std::size_t first_column,
                             std::size_t row,
                             std::span<std::byte> out) {
  const std::string title = name(chunk.columns[first_column], row);
  const std::int32_t label = title.empty() ? -1 : classes_by_name_.at(title);
  largest_ = std::max<std::int64_t>(largest_, label);
  std::memcpy(out.data(), &label, sizeof(label));
  return label >= 0;
}

std::int64_t LabelCoder::class_of(const TableChunk& chunk,
                                  std::size_t first_column,
                                  std::size_t row) {
  if (requests_[0].type == ColumnType::kInteger) {
    if (is_none(chunk.columns[first_column], row)) {
      ++none_rows_;
      return -1;
    }
    const std::int64_t label = integer(chunk, first_column, row, 0);
    if (label == -1) ++minus_ones_;
    return label;
  }
  const double value = number(chunk, first_column, row, 0);
  if (std::isnan(value)) return -1;
  if (value == -1) ++minus_ones_;
  constexpr double kExact = 9007199254740992;  // whole numbers beyond it may have been others
  if (!(std::abs(value) < kExact) || std::trunc(value) != value)
    fail(chunk, row, 0, fmt::format("the label {} is no class", value), "0, 1, 2, ...; or NaN");
  return static_cast<std::int64_t>(value);
}

bool LabelCoder::encode_class(const TableChunk& chunk,
                              std::size_t first_column,
                              std::size_t row,
                              std::span<std::byte> out) {
  const std::int64_t label = class_of(chunk, first_column, row);
  const std::int64_t limit = classes_ != 0 ? classes_ : std::numeric_limits<std::int32_t>::max();
  if (label < -1)
    fail(chunk,
         row,
         0,
         fmt::format("the label {} is negative", label),
         "-1 or an empty cell is no label; labels.none names other values that say so");
  if (label >= limit) {
    fail(chunk,
         row,
         0,
         fmt::format("the label {} is not below the number of classes, {}", label, limit),
         classes_ != 0 ? "classes are 0 to classes - 1; classes = 0 counts them"
                       : "for numbers that are no classes 0, 1, 2, ... say labels.kind = \"name\"; "
                         "labels.none names values that stand for no label");
  }
  largest_ = std::max(largest_, label);
  if (classes_ == 0) seen_.take(label);
  const auto stored = static_cast<std::int32_t>(label);
  std::memcpy(out.data(), &stored, sizeof(stored));
  return label >= 0;
}

bool LabelCoder::encode_bits(const TableChunk& chunk,
                             std::size_t first_column,
                             std::size_t row,
                             std::span<std::byte> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  std::uint32_t ones = 0;
  for (std::uint32_t i = 0; i < width_; ++i) {
    const bool real = requests_[0].type == ColumnType::kReal;
    const double value = real ? number(chunk, first_column, row, i)
                              : static_cast<double>(integer(chunk, first_column, row, i));
    const std::int64_t bit = value == 1 ? 1 : value == 0 ? 0 : -1;
    if (bit < 0)
      fail(chunk,
           row,
           i,
           fmt::format("{} is neither 0 nor 1", value),
           "multi_label is one bit a class");
    out[i / 8] |= static_cast<std::byte>(bit << (i % 8));
    ones += bit == 1 ? 1 : 0;
  }
  take_one_hot(ones, width_ - ones);
  return true;
}

bool LabelCoder::encode_targets(const TableChunk& chunk,
                                std::size_t first_column,
                                std::size_t row,
                                std::span<std::byte> out) {
  bool labelled = false;
  std::uint32_t ones = 0, zeros = 0;
  for (std::uint32_t i = 0; i < width_; ++i) {
    const double value = number(chunk, first_column, row, i);
    const auto stored =
        std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
    if (std::isinf(stored))
      fail(chunk,
           row,
           i,
           fmt::format("{} is no finite f32", value),
           "NaN or an empty cell is no label");
    rounded_.look(value);
    labelled = labelled || !std::isnan(stored);
    ones += value == 1 ? 1 : 0;
    zeros += value == 0 ? 1 : 0;
    std::memcpy(out.data() + i * sizeof(float), &stored, sizeof(float));
  }
  take_one_hot(ones, zeros);
  return labelled;
}

}  // namespace sluice
