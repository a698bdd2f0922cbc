// Columns of features on one scale: the keys `scale` and `missing`, the statistics that they need,
// and what they make of rows. Statistics are exact, and the same for any number of threads: each
// column is added up in the order of the rows. Memory is bounded whatever the number of rows: these
// are read several times.
#pragma once

#include "prep/prep_context.h"

#include <sluice/graph_schema.h>
#include <sluice/options.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

enum class FeatureScale { kNone, kStandard, kMinMax, kRobust };
enum class MissingValues { kAuto, kMean, kZero, kRefuse };

std::string_view to_string(FeatureScale scale);

struct ScaleChoice {
  FeatureScale scale = FeatureScale::kNone;
  MissingValues missing = MissingValues::kAuto;

  void describe(Schema& schema);

  /// Whether rows are stored otherwise than they are given.
  bool any() const { return scale != FeatureScale::kNone || fills(); }
  /// Whether missing values become numbers.
  bool fills() const { return missing == MissingValues::kMean || missing == MissingValues::kZero; }
  /// Whether the values of other rows are needed for that.
  bool needs_statistics() const {
    return scale != FeatureScale::kNone || missing == MissingValues::kMean;
  }
};

/// Columns that a scaled table may have: its numbers stand in the manifest.
inline constexpr std::uint32_t kMostScaledColumns = 1u << 18;

/// Rows of f64, all of them from the first on, each time it is called: take(first_row, values),
/// whole rows. A missing value is NaN; others are finite.
using TakeRows = std::function<void(std::uint64_t first_row, std::span<const double> values)>;
using ReadRows = std::function<void(const TakeRows& take)>;
/// Whether a row counts; null: all do.
using CountsRow = std::function<bool(std::uint64_t row)>;

/// Which columns are measured, and where they stand.
struct ScaledTable {
  std::uint32_t dim = 0;
  Place place;
};

/// What `choice` makes of a table. Throws Error(kData) where a column that needs
/// statistics has no value in the rows that count. `over` and `columns` are the caller's to fill
/// in.
/// @param name_of a column, for that message
FeatureScaling measure_scaling(const ScaleChoice& choice,
                               const ScaledTable& table,
                               const ReadRows& read,
                               const CountsRow& counts,
                               const std::function<std::string(std::uint32_t)>& name_of,
                               PrepContext& context);

/// Fills and scales whole rows, in place; on all threads.
void apply_scaling(const FeatureScaling& scaling,
                   std::uint32_t dim,
                   std::span<double> values,
                   ThreadArena& arena);

}  // namespace sluice
