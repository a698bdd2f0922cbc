// TimeColumn: a column of times as ticks: whole numbers as they stand, numbers of another unit,
// datetimes of Arrow, or dates as texts. Private to src/prep/import.
#pragma once

#include "prep/table/dates.h"
#include "prep/table/table_reader.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice {

class Schema;

/// How times are to be read.
struct TimeRule {
  double scale = 0;                      ///< 0: none; else what numbers are multiplied by
  TickUnit unit = TickUnit::kStored;     ///< in which dates and datetimes are counted
  const char* scale_key = "time_scale";  ///< what these are called in graph.toml
  const char* unit_key = "time_unit";
};

/// The keys' values, for Schema::choice.
void describe_time_unit(Schema& schema, const char* key, TickUnit& unit);

class TimeColumn {
 public:
  /// Throws Error(kUsage) for a column of numbers where a unit is given. @param table outlives this
  TimeColumn(const TableReader& table, const ColumnInfo& column, const TimeRule& rule);

  /// What it is asked for as.
  ColumnType type() const;

  /// A chunk's times; valid until the next call, or as long as `values`. What is no time, or beyond
  /// 64 bits, is a kData error with file, line and column.
  std::span<const std::int64_t> take(const ColumnValues& values, std::uint64_t first_row);

  /// What was rounded or taken for granted so far, a sentence each.
  std::vector<std::string> remarks() const;

 private:
  enum class Kind { kWhole, kScaled, kDatetimes, kDates };

  void take_scaled(std::span<const double> values, std::uint64_t first_row);
  void take_datetimes(std::span<const std::int64_t> values, std::uint64_t first_row);
  void take_dates(const TextValues& texts, std::uint64_t first_row);
  Error beyond(std::uint64_t row, const std::string& what) const;

  const TableReader* table_;
  std::string column_;
  std::int64_t stored_a_day_;  // of datetimes; else 0
  TimeRule rule_;
  Kind kind_ = Kind::kWhole;
  std::vector<std::int64_t> times_;
  std::uint64_t rows_ = 0, rounded_ = 0, coarse_ = 0, unzoned_ = 0;
};

}  // namespace sluice
