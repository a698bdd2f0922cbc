#include "prep/features/feature_scaling.h"

#include "prep/features/column_statistics.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

/// What a constant column is divided by.
double or_one(double spread) {
  return spread == 0 ? 1 : spread;
}

void set_scale(FeatureScaling& scaling,
               FeatureScale scale,
               const ColumnStatistics& columns,
               std::uint32_t dim) {
  scaling.shift.resize(dim);
  scaling.divisor.resize(dim);
  for (std::uint32_t c = 0; c < dim; ++c) {
    switch (scale) {
      case FeatureScale::kStandard:
        scaling.shift[c] = columns.mean(c);
        scaling.divisor[c] = or_one(columns.deviation(c));
        break;
      case FeatureScale::kMinMax:
        scaling.shift[c] = columns.least(c);
        scaling.divisor[c] = or_one(columns.largest(c) - columns.least(c));
        break;
      case FeatureScale::kRobust:
        scaling.shift[c] = columns.quartile(c, 2);
        scaling.divisor[c] = or_one(columns.quartile(c, 3) - columns.quartile(c, 1));
        break;
      case FeatureScale::kNone:
        break;
    }
  }
}

}  // namespace

std::string_view to_string(FeatureScale scale) {
  switch (scale) {
    case FeatureScale::kStandard:
      return "standard";
    case FeatureScale::kMinMax:
      return "minmax";
    case FeatureScale::kRobust:
      return "robust";
    case FeatureScale::kNone:
      break;
  }
  return "none";
}

void ScaleChoice::describe(Schema& schema) {
  schema
      .choice<FeatureScale>(
          "scale",
          scale,
          {{"none", FeatureScale::kNone, "values stay as they are"},
           {"standard", FeatureScale::kStandard, "minus the mean, by the standard deviation"},
           {"minmax", FeatureScale::kMinMax, "from 0, the least, to 1, the largest"},
           {"robust",
            FeatureScale::kRobust,
            "minus the median, by the distance of the quartiles: for columns with outliers"}})
      .help(
          "brings each column to one scale, by its values in the training rows of the split "
          "'default' (or the first one); without a split by all. What it was is kept with the "
          "table, and append uses it again");
  schema
      .choice<MissingValues>(
          "missing",
          missing,
          {{"auto", MissingValues::kAuto, "as not_finite says"},
           {"mean", MissingValues::kMean, "the mean of the column, over the rows that scale takes"},
           {"zero", MissingValues::kZero, "0, before it is scaled"},
           {"refuse", MissingValues::kRefuse, "an error"}})
      .help("what to do with empty cells, nulls and NaN; they do not count in statistics");
}

FeatureScaling measure_scaling(const ScaleChoice& choice,
                               const ScaledTable& table,
                               const ReadRows& read,
                               const CountsRow& counts,
                               const std::function<std::string(std::uint32_t)>& name_of,
                               PrepContext& context) {
  const std::uint32_t dim = table.dim;
  FeatureScaling scaling;
  scaling.scale = to_string(choice.scale);
  if (choice.missing == MissingValues::kZero) {
    scaling.missing = "zero";
    scaling.fill.assign(dim, 0);
  }
  if (!choice.needs_statistics()) return scaling;
  ColumnStatistics columns(dim, read, counts, context);
  columns.measure_sums();
  scaling.rows = columns.rows();
  for (std::uint32_t c = 0; c < dim; ++c) {
    if (columns.count(c) != 0) continue;
    throw Error(
        ErrorCode::kData,
        fmt::format(
            "{} has no value in the {} rows that statistics are of", name_of(c), columns.rows()),
        "leave the column out of features.columns",
        table.place);
  }
  if (choice.missing == MissingValues::kMean) {
    scaling.missing = "mean";
    for (std::uint32_t c = 0; c < dim; ++c) scaling.fill.push_back(columns.mean(c));
  }
  if (choice.scale == FeatureScale::kNone) return scaling;
  if (choice.scale == FeatureScale::kStandard) columns.measure_deviations();
  if (choice.scale == FeatureScale::kRobust) columns.measure_quartiles();
  set_scale(scaling, choice.scale, columns, dim);
  for (std::uint32_t c = 0; c < dim; ++c) {
    if (std::isfinite(scaling.shift[c]) && std::isfinite(scaling.divisor[c])) continue;
    throw Error(
        ErrorCode::kData,
        fmt::format(
            "{} has values too large to be scaled, up to {}", name_of(c), columns.largest(c)),
        "give it in another unit",
        table.place);
  }
  return scaling;
}

void apply_scaling(const FeatureScaling& scaling,
                   std::uint32_t dim,
                   std::span<double> values,
                   ThreadArena& arena) {
  constexpr std::size_t kElements = 65536;  // a task
  const std::size_t grain = std::max<std::size_t>(1, kElements / dim);
  arena.for_ranges(values.size() / dim, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      double* const at = values.data() + row * dim;
      for (std::uint32_t c = 0; c < dim; ++c) {
        if (!scaling.fill.empty() && std::isnan(at[c])) at[c] = scaling.fill[c];
        if (!scaling.shift.empty()) at[c] = (at[c] - scaling.shift[c]) / scaling.divisor[c];
      }
    }
  });
}

}  // namespace sluice
