#include "prep/import/feature_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice {
namespace {

/// The chunk's columns side by side, row by row.
void interleave(const TableChunk& chunk, std::span<double> rows) {
  const std::size_t dim = chunk.columns.size();
  for (std::size_t column = 0; column < dim; ++column) {
    const std::span<const double> values = chunk.columns[column].reals;
    for (std::size_t row = 0; row < chunk.rows; ++row) rows[row * dim + column] = values[row];
  }
}

std::string hint_of_missing(bool missing, DType stored) {
  if (!missing && stored == DType::kI8)
    return "mend the data, or say dtype = \"f32\" and not_finite = \"keep\": int8 has no place for "
           "it";
  if (stored == DType::kI8)
    return "mend the data, or say missing = \"mean\" or \"zero\"; or dtype = \"f32\" and "
           "not_finite = "
           "\"keep\": int8 has no place for it";
  if (missing)
    return "mend the data, or say missing = \"mean\" or \"zero\", or not_finite = \"keep\"";
  return "mend the data, or say not_finite = \"keep\"";
}

/// Why an element may not be stored, and what to do.
std::string hint_of_refused(double value, DType stored, const FeatureSpec& spec) {
  if (std::isnan(value) && spec.scaling.missing == MissingValues::kRefuse)
    return "mend the data, or say missing = \"mean\" or \"zero\"";
  if (!std::isfinite(value)) return hint_of_missing(std::isnan(value), stored);
  if (stored == DType::kF16) return "f16 ends at 65504: say dtype = \"bf16\" or \"f32\"";
  return "mend the data: features reach up to 3.4e38";
}

}  // namespace

FeatureRows::FeatureRows(ImportContext& context,
                         const FeatureSpec& spec,
                         const RowTarget& target,
                         As as)
    : spec_(spec), as_(as), table_(context.open(spec.file, spec.format)) {
  place_ = {table_->path().string(), -1, -1, -1};
  sparse_ = table_->turn_sparse(spec.columns, target.entries);
  if (target.order) table_ = target.order(std::move(table_));
  choose_columns();
  const auto refuse_dim = [&](const std::string& message, const char* hint) {
    throw Error(ErrorCode::kData, message, hint, place_);
  };
  if (dim_ == 0) refuse_dim("the features have no columns (dimension 0)", "leave features out");
  if (dim_ > std::numeric_limits<std::uint32_t>::max() / sizeof(double))
    refuse_dim(fmt::format("a row of {} elements is too wide", dim_), "is the array transposed?");
  if (as == As::kReals && dim_ > kMostScaledColumns)
    refuse_dim(fmt::format("{} columns cannot be scaled or filled", dim_),
               "leave scale and missing out, or take fewer columns: up to 262,144");
  table_->select(requests_);
}

void FeatureRows::choose_columns() {
  std::vector<std::string> names = spec_.columns;
  if (names.empty()) {
    for (const ColumnInfo& column : table_->columns()) names.push_back(column.name);
  }
  const bool may_miss = spec_.not_finite == NotFiniteValues::kKeep || spec_.scaling.fills();
  const EmptyCell empty = may_miss && spec_.scaling.missing != MissingValues::kRefuse
                              ? EmptyCell::kMissing
                              : EmptyCell::kRefuse;
  for (const std::string& name : names) {
    const ColumnInfo& column = table_->column(name, 0);
    matrix_ = names.size() == 1 && column.dtype.has_value();
    if (!matrix_ && column.width != 1) {
      throw Error(
          ErrorCode::kData,
          fmt::format(
              "column '{}' has {} numbers a row, beside other columns", column.name, column.width),
          "name it alone in features.columns, or only columns of one number a row",
          place_);
    }
    const bool as_stored = matrix_ && as_ == As::kStored;
    requests_.push_back({column.name,
                         as_stored ? ColumnType::kRaw : ColumnType::kReal,
                         empty,
                         ColumnUse::kFeatures});
    if (matrix_) source_dtype_ = *column.dtype;
    if (as_stored) dtype_ = *column.dtype;
    dim_ = matrix_ ? column.width : static_cast<std::uint32_t>(names.size());
  }
}

std::string FeatureRows::name_of(std::uint32_t column) const {
  return matrix_ ? fmt::format("element {}", column)
                 : fmt::format("column '{}'", requests_[column].name);
}

std::vector<std::string> FeatureRows::names() const {
  std::vector<std::string> names;
  for (const ColumnRequest& request : requests_)
    if (!matrix_) names.push_back(request.name);
  return names;
}

bool FeatureRows::next(FeatureEncoder& room) {
  if (!table_->next(chunk_)) return false;
  if (as_ == As::kStored && matrix_) {
    elements_ = chunk_.columns[0].raw;
    return true;
  }
  reals_ = room.scratch(chunk_.rows * dim_);
  if (matrix_) {
    std::copy(chunk_.columns[0].reals.begin(), chunk_.columns[0].reals.end(), reals_.begin());
  } else {
    interleave(chunk_, reals_);
  }
  elements_ = std::as_bytes(reals_);
  if (as_ == As::kReals) check_reals();
  return true;
}

// What has no place in statistics: it is said with the value that the file has.
void FeatureRows::check_reals() const {
  const bool keep = spec_.not_finite == NotFiniteValues::kKeep;
  const bool nan = spec_.scaling.fills() || (keep && spec_.scaling.missing == MissingValues::kAuto);
  const bool infinite = keep && spec_.scaling.scale == FeatureScale::kNone &&
                        spec_.scaling.missing != MissingValues::kMean;
  for (std::size_t i = 0; i < reals_.size(); ++i) {
    const double value = reals_[i];
    if (std::isfinite(value) || (std::isnan(value) ? nan : infinite)) continue;
    refuse(i, value, DType::kF32);
  }
}

void FeatureRows::refuse(std::size_t element, double value, DType stored) const {
  const std::size_t column = element % dim_;
  const bool matrix = requests_.size() == 1 && dim_ > 1;
  const std::string where = matrix ? fmt::format("element {}: ", column) : "";
  const std::string reason =
      std::isfinite(value)
          ? fmt::format("{}{} is beyond {}", where, value, feature_dtype_name(stored))
          : fmt::format("{}the value is {}", where, value);
  const bool scaled = std::isinf(value) && spec_.not_finite == NotFiniteValues::kKeep &&
                      spec_.scaling.needs_statistics();
  throw table_->value_error(
      chunk_.first_row + element / dim_,
      requests_[matrix ? 0 : column].name,
      reason,
      scaled ? std::string("mend the data: scale and missing need finite numbers")
             : hint_of_refused(value, stored, spec_));
}

}  // namespace sluice
