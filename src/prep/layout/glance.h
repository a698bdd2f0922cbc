// A glance at a table: its columns, and what their first values are like. What layouts guess from.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/file_set.h"

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

namespace sluice {

struct ColumnGlance {
  ColumnInfo info;
  bool integers = true;    ///< all values are whole numbers, as they are written
  bool numbers = true;     ///< all are numbers
  bool whole = true;       ///< all are whole numbers, if maybe written as 1.0
  bool padded = false;     ///< some begin with a zero that a number would lose: "007"
  bool missing = false;    ///< some are empty, or NaN
  bool points = false;     ///< some are numbers with a point, or floats: 1.0, 1e3
  bool fractions = false;  ///< some are numbers with a fraction
  bool beyond = false;     ///< some are whole numbers that 63 bits do not hold; they are texts here
  std::uint64_t empty = 0;  ///< how many are missing
  bool ascending = true;    ///< whole numbers, none smaller than the one before
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  double low = std::numeric_limits<double>::infinity();  ///< of numbers, whole ones or not
  double high = -std::numeric_limits<double>::infinity();
  std::unordered_set<std::string> texts;       ///< different values, where they are texts
  std::unordered_set<std::int64_t> different;  ///< different whole numbers, as they are written
  std::unordered_set<std::int64_t> classes;    ///< different ones that are written as 1.0

  /// How many different values were seen, of those that are no fractions.
  std::size_t kinds() const { return different.size() + texts.size(); }
  bool has_values() const { return kinds() != 0 || low <= high; }

  /// Whether some are numbers with a point, as no integers are written, and the others numbers.
  bool has_points() const { return numbers && !integers && points; }

  /// Whether both have a value in common, of those that are no fractions.
  bool meets(const ColumnGlance& other) const;

  /// All whole numbers are from `first` to `last`, and there is one.
  bool within(std::int64_t first, std::int64_t last) const {
    return integers && !different.empty() && first <= least && largest <= last;
  }
};

struct TableGlance {
  std::vector<ColumnGlance> columns;
  std::uint64_t rows = 0;  ///< that were looked at
  bool whole = false;      ///< that is all there are
};

inline constexpr std::uint64_t kGlanceRows = std::uint64_t{1} << 16;

/// Whether all numbers are times since 1970, in seconds or in thousandths or less, from 1973 on.
bool looks_like_time(const ColumnGlance& column);

/// Whether all are texts that begin with a date: 2024-05-31, 2024/05/31 12:00.
bool looks_like_dates(const ColumnGlance& column);

/// Looks at the first rows. Matrices have only their info, but those of pairs of whole numbers.
/// Throws as the reader does.
TableGlance glance_at(const FileSet& files,
                      const std::string& file,
                      const std::string& format,
                      const TableOptions& options,
                      std::uint64_t rows = kGlanceRows);

/// The same of features and labels: a sparse matrix is one by its rows.
TableGlance glance_at_rows(const FileSet& files,
                           const std::string& file,
                           const std::string& format,
                           const TableOptions& options);

/// What kind of labels the columns are; LabelSpec::columns too, where there are several. Returns
/// why, where that is not plain to see: a sentence for a comment.
std::string guess_labels(const TableGlance& glance, LabelSpec& labels);

}  // namespace sluice
