#include "prep/table/dates.h"

#include <chrono>
#include <cstddef>
#include <limits>

namespace sluice {
namespace {

constexpr std::int64_t kNanosASecond = 1'000'000'000;
constexpr std::int64_t kSecondsADay = 86'400;
constexpr std::int64_t kNanosADay = kSecondsADay * kNanosASecond;

/// A text that is read from its front.
class DateText {
 public:
  explicit DateText(std::string_view text) : left_(text) {}

  bool done() const { return left_.empty(); }
  bool take(char wanted) {
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool at_digit() const { return !left_.empty() && left_.front() >= '0' && left_.front() <= '9'; }
  int digit() {
    const int value = left_.front() - '0';
    left_.remove_prefix(1);
    return value;
  }
  /// Just so many digits.
  std::optional<int> number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!at_digit()) return std::nullopt;
      value = value * 10 + digit();
    }
    return value;
  }
  std::optional<int> number_below(std::size_t digits, int limit) {
    const auto value = number(digits);
    return value && *value < limit ? value : std::nullopt;
  }

 private:
  std::string_view left_;
};

/// Seconds since 1970 at the day's beginning.
std::optional<std::int64_t> take_day(DateText& text) {
  const auto year = text.number(4);
  if (!year || !text.take('-')) return std::nullopt;
  const auto month = text.number(2);
  if (!month || !text.take('-')) return std::nullopt;
  const auto day = text.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * kSecondsADay;
}

/// Behind the point of a second; at least one digit.
bool take_fraction(DateText& text, Moment& moment) {
  if (!text.at_digit()) return false;
  for (std::int64_t worth = kNanosASecond / 10; text.at_digit(); worth /= 10) {
    const int digit = text.digit();
    moment.nanos += digit * worth;
    moment.finer = moment.finer || (worth == 0 && digit != 0);
  }
  return true;
}

bool take_time_of_day(DateText& text, Moment& moment) {
  const auto hour = text.number_below(2, 24);
  if (!hour || !text.take(':')) return false;
  const auto minute = text.number_below(2, 60);
  if (!minute) return false;
  moment.seconds += *hour * 3600 + *minute * 60;
  if (!text.take(':')) return true;
  const auto second = text.number_below(2, 60);
  if (!second) return false;
  moment.seconds += *second;
  return text.take('.') || text.take(',') ? take_fraction(text, moment) : true;
}

/// What the clock of the zone is ahead of UTC, in seconds.
bool take_zone(DateText& text, Moment& moment) {
  moment.zoned = true;
  if (text.take('Z') || text.take('z')) return true;
  const bool ahead = text.take('+');
  if (!ahead && !text.take('-')) return false;
  const auto hours = text.number_below(2, 24);
  if (!hours) return false;
  std::optional<int> minutes = 0;
  if (text.take(':') || text.at_digit()) minutes = text.number_below(2, 60);
  if (!minutes) return false;
  const std::int64_t offset = *hours * 3600 + *minutes * 60;
  moment.seconds += ahead ? -offset : offset;
  return true;
}

std::optional<Ticks> ticks_of_nanos(__int128 nanos, bool finer, TickUnit unit) {
  const __int128 tick = kNanosADay / ticks_a_day(unit);
  __int128 value = nanos / tick;
  const bool whole = value * tick == nanos;
  if (!whole && nanos < 0) --value;  // down, not towards 0
  if (value < std::numeric_limits<std::int64_t>::min() ||
      value > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return Ticks{static_cast<std::int64_t>(value), whole && !finer};
}

}  // namespace

std::int64_t ticks_a_day(TickUnit unit) {
  switch (unit) {
    case TickUnit::kStored:
      return 0;
    case TickUnit::kDays:
      return 1;
    case TickUnit::kSeconds:
      return kSecondsADay;
    case TickUnit::kMilliseconds:
      return kSecondsADay * 1000;
    case TickUnit::kMicroseconds:
      return kSecondsADay * 1'000'000;
    case TickUnit::kNanoseconds:
      return kNanosADay;
  }
  return 0;
}

std::string_view name_of(TickUnit unit) {
  switch (unit) {
    case TickUnit::kStored:
      return "ticks";
    case TickUnit::kDays:
      return "days";
    case TickUnit::kSeconds:
      return "seconds";
    case TickUnit::kMilliseconds:
      return "milliseconds";
    case TickUnit::kMicroseconds:
      return "microseconds";
    case TickUnit::kNanoseconds:
      return "nanoseconds";
  }
  return "";
}

std::optional<Moment> parse_moment(std::string_view given) {
  DateText text(given);
  const auto day = take_day(text);
  if (!day) return std::nullopt;
  Moment moment{.seconds = *day};
  if (text.done()) return moment;
  if (!text.take('T') && !text.take('t') && !text.take(' ')) return std::nullopt;
  if (!take_time_of_day(text, moment)) return std::nullopt;
  if (text.done()) return moment;
  if (!take_zone(text, moment) || !text.done()) return std::nullopt;
  return moment;
}

std::optional<Ticks> ticks_of(const Moment& moment, TickUnit unit) {
  return ticks_of_nanos(
      __int128{moment.seconds} * kNanosASecond + moment.nanos, moment.finer, unit);
}

std::optional<Ticks> ticks_of(std::int64_t stored, std::int64_t stored_a_day, TickUnit unit) {
  return ticks_of_nanos(__int128{stored} * (kNanosADay / stored_a_day), false, unit);
}

}  // namespace sluice
