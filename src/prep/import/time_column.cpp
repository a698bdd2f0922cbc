#include "prep/import/time_column.h"

#include "prep/table/text_cells.h"

#include <sluice/options.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <cmath>

namespace sluice {
namespace {

// Up to here a double holds every whole number.
constexpr double kExact = 9007199254740992.0;

TickUnit unit_of_day(std::int64_t ticks) {
  for (const TickUnit unit : {TickUnit::kDays,
                              TickUnit::kSeconds,
                              TickUnit::kMilliseconds,
                              TickUnit::kMicroseconds,
                              TickUnit::kNanoseconds})
    if (ticks_a_day(unit) == ticks) return unit;
  return TickUnit::kStored;
}

}  // namespace

void describe_time_unit(Schema& schema, const char* key, TickUnit& unit) {
  schema
      .choice<TickUnit>(key,
                        unit,
                        {{"stored", TickUnit::kStored, "the numbers that stand there"},
                         {"days", TickUnit::kDays, ""},
                         {"s", TickUnit::kSeconds, ""},
                         {"ms", TickUnit::kMilliseconds, ""},
                         {"us", TickUnit::kMicroseconds, ""},
                         {"ns", TickUnit::kNanoseconds, ""}})
      .help(
          "of dates (2024-05-31, 2024-05-31T12:30:05.5+02:00) and of columns of datetimes: what is "
          "counted since 1970; a part of one is rounded down, and a date without a zone is UTC");
}

TimeColumn::TimeColumn(const TableReader& table, const ColumnInfo& column, const TimeRule& rule)
    : table_(&table), column_(column.name), stored_a_day_(column.ticks_a_day), rule_(rule) {
  if (rule.unit == TickUnit::kStored) {
    kind_ = rule.scale == 0 ? Kind::kWhole : Kind::kScaled;
  } else if (stored_a_day_ != 0) {
    kind_ = Kind::kDatetimes;
  } else if (!column.dtype) {
    kind_ = Kind::kDates;
  } else {
    throw Error(ErrorCode::kUsage,
                fmt::format("column '{}' holds numbers, and {} is for dates and datetimes",
                            column.name,
                            rule.unit_key),
                fmt::format("leave {} out; {} multiplies numbers", rule.unit_key, rule.scale_key),
                Place{table.path().string(), -1, -1, -1});
  }
}

ColumnType TimeColumn::type() const {
  switch (kind_) {
    case Kind::kScaled:
      return ColumnType::kReal;
    case Kind::kDates:
      return ColumnType::kText;
    case Kind::kWhole:
    case Kind::kDatetimes:
      break;
  }
  return ColumnType::kInteger;
}

std::span<const std::int64_t> TimeColumn::take(const ColumnValues& values,
                                               std::uint64_t first_row) {
  times_.clear();
  switch (kind_) {
    case Kind::kWhole:
      rows_ += values.integers.size();
      return values.integers;
    case Kind::kScaled:
      take_scaled(values.reals, first_row);
      break;
    case Kind::kDatetimes:
      take_datetimes(values.integers, first_row);
      break;
    case Kind::kDates:
      take_dates(values.text, first_row);
      break;
  }
  rows_ += times_.size();
  return times_;
}

void TimeColumn::take_scaled(std::span<const double> values, std::uint64_t first_row) {
  constexpr double kMost = 9.2e18;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = values[i] * rule_.scale;
    const double time = std::nearbyint(exact);
    if (!(std::abs(time) < kMost)) {
      throw table_->value_error(
          first_row + i,
          column_,
          fmt::format("the time {} times {} is no 64-bit number", values[i], rule_.scale),
          "choose a smaller scale");
    }
    // 1.1 times 1000 is not quite 1100: that is no rounding of what the file says.
    rounded_ += std::abs(exact - time) > std::abs(exact) * 1e-15 ? 1u : 0u;
    coarse_ += std::abs(time) > kExact ? 1u : 0u;
    times_.push_back(static_cast<std::int64_t>(time));
  }
}

Error TimeColumn::beyond(std::uint64_t row, const std::string& what) const {
  return table_->value_error(
      row,
      column_,
      fmt::format("{} is beyond 64 bits, counted in {}", what, name_of(rule_.unit)),
      fmt::format("say a coarser {}, such as \"s\"", rule_.unit_key));
}

void TimeColumn::take_datetimes(std::span<const std::int64_t> values, std::uint64_t first_row) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto ticks = ticks_of(values[i], stored_a_day_, rule_.unit);
    if (!ticks) throw beyond(first_row + i, fmt::format("the time {}", values[i]));
    rounded_ += ticks->exact ? 0u : 1u;
    times_.push_back(ticks->value);
  }
}

void TimeColumn::take_dates(const TextValues& texts, std::uint64_t first_row) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string_view cell = trimmed_cell(texts[i]);
    const auto moment = parse_moment(cell);
    if (!moment) {
      throw table_->value_error(
          first_row + i,
          column_,
          cell.empty() ? "the cell is empty" : fmt::format("{} is no date", shown_cell(cell)),
          fmt::format("dates are written like 2024-05-31 or 2024-05-31T12:30:05.5+02:00 (ISO "
                      "8601); for numbers leave {} out",
                      rule_.unit_key));
    }
    const auto ticks = ticks_of(*moment, rule_.unit);
    if (!ticks) throw beyond(first_row + i, shown_cell(cell));
    rounded_ += ticks->exact ? 0u : 1u;
    unzoned_ += moment->zoned ? 0u : 1u;
    times_.push_back(ticks->value);
  }
}

std::vector<std::string> TimeColumn::remarks() const {
  std::vector<std::string> all;
  const auto counted = [this](std::uint64_t count) {
    return count == rows_ ? std::string("all")
                          : fmt::format("{} of {}", format_count(count), format_count(rows_));
  };
  if (kind_ == Kind::kWhole && stored_a_day_ != 0)
    all.push_back(
        fmt::format("times are counted in {} since 1970, as they are stored; {} names "
                    "another unit",
                    name_of(unit_of_day(stored_a_day_)),
                    rule_.unit_key));
  if (unzoned_ != 0)
    all.push_back(fmt::format("{} dates say no zone, and are taken as UTC", counted(unzoned_)));
  if (rounded_ != 0 && kind_ == Kind::kScaled) {
    all.push_back(
        fmt::format("{} times are no whole number after {} = {}, and are rounded to the "
                    "nearest; a larger one keeps more",
                    counted(rounded_),
                    rule_.scale_key,
                    rule_.scale));
  } else if (rounded_ != 0) {
    all.push_back(
        fmt::format("{} times are no whole number of {}, and are rounded down; a finer "
                    "{} keeps more",
                    counted(rounded_),
                    name_of(rule_.unit),
                    rule_.unit_key));
  }
  if (coarse_ != 0)
    all.push_back(fmt::format("{} times are beyond 2^53 after {}, where floats skip whole numbers",
                              counted(coarse_),
                              rule_.scale_key));
  return all;
}

}  // namespace sluice
