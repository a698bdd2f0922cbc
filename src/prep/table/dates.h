// Dates and times of day as ISO 8601 writes them, and as ticks since 1970 in a unit. Pure
// functions; the calendar is Gregorian before 1582 too, and no day has a leap second.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class TickUnit {
  kStored,  ///< whatever the numbers count
  kDays,
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds
};

/// 0 of kStored.
std::int64_t ticks_a_day(TickUnit unit);
/// "seconds"; of kStored "ticks".
std::string_view name_of(TickUnit unit);

struct Moment {
  std::int64_t seconds = 0;  ///< since 1970-01-01T00:00:00Z
  std::int64_t nanos = 0;    ///< from 0, below 1e9
  bool finer = false;        ///< it has digits below a nanosecond, not all of them 0
  bool zoned = false;        ///< it says its zone; else it is taken as UTC
};

/// "2024-05-31", or with a time of day behind a 'T' or a space: "12:30", "12:30:05",
/// "12:30:05.25", and with a zone behind that: "Z", "+02", "+0200", "-02:30". Nothing for others.
std::optional<Moment> parse_moment(std::string_view text);

struct Ticks {
  std::int64_t value = 0;
  bool exact = true;  ///< else rounded down
};

/// Nothing where 64 bits do not hold it. @pre unit is not kStored
std::optional<Ticks> ticks_of(const Moment& moment, TickUnit unit);
/// A number of ticks of another unit. @param stored_a_day ticks a day that it counts
std::optional<Ticks> ticks_of(std::int64_t stored, std::int64_t stored_a_day, TickUnit unit);

}  // namespace sluice
