#include "prep/layout/scaling_guess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

constexpr double kDiffers = 10;  // times, from one column's largest magnitude to another's

double magnitude_of(const ColumnGlance& column) {
  return std::max(std::abs(column.low), std::abs(column.high));
}

std::string range_of(const ColumnGlance& column) {
  return fmt::format("{} {} to {}", column.info.name, column.low, column.high);
}

}  // namespace

void guess_scaling(const TableGlance& glance,
                   FeatureSpec& features,
                   const std::string& path,
                   Description& made) {
  std::vector<const ColumnGlance*> columns;
  std::vector<std::string> missing;
  const auto taken = [&](const ColumnGlance& column) {
    return features.columns.empty() ||
           std::count(features.columns.begin(), features.columns.end(), column.info.name) != 0;
  };
  for (const ColumnGlance& column : glance.columns) {
    const bool array = column.info.dtype && glance.columns.size() == 1;
    if (array || column.info.width != 1 || !column.numbers || !taken(column)) continue;
    if (column.low <= column.high) columns.push_back(&column);
    if (column.missing) missing.push_back(column.info.name);
  }
  if (!missing.empty()) {
    features.scaling.missing = MissingValues::kMean;
    made.comment(
        path + ".missing",
        fmt::format("Some cells of {} are empty: they become the mean of the column, over "
                    "the training rows where there is a split; \"zero\" and \"refuse\" are "
                    "the other ways.",
                    fmt::join(missing, ", ")));
  }
  if (columns.size() < 2) return;
  const auto [least, largest] = std::minmax_element(
      columns.begin(), columns.end(), [](const ColumnGlance* a, const ColumnGlance* b) {
        return magnitude_of(*a) < magnitude_of(*b);
      });
  if (magnitude_of(**largest) < kDiffers * magnitude_of(**least)) return;
  made.comment(
      path + ".scale",
      fmt::format("Columns differ in scale ({}; {}): \"standard\" brings them to one, by "
                  "their mean and deviation in the training rows; \"minmax\" and \"robust\" "
                  "are the other ways.",
                  range_of(**least),
                  range_of(**largest)));
}

}  // namespace sluice
