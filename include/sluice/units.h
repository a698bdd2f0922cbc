// Byte sizes, durations and counts as people write them: "2GiB", "1.5 h", 4,194,304.
#pragma once

#include <sluice/error.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// A number of bytes. A type of its own so that options state their unit.
struct ByteSize {
  std::uint64_t bytes = 0;
  friend bool operator==(const ByteSize&, const ByteSize&) = default;
};

using Duration = std::chrono::nanoseconds;

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// "512", "64KiB", "1.5 GiB", "2GB" (powers of ten), case-insensitive, fractions allowed.
Result<ByteSize> parse_bytes(std::string_view text);

/// Shortest form with at most two decimals: "0 B", "4 KiB", "1.5 GiB".
std::string format_bytes(std::uint64_t bytes);

/// The exact form that parse_bytes reads back: "2GiB", "1000000B".
std::string format_bytes_exact(std::uint64_t bytes);

/// "250ms", "30 s", "5min", "2h", "1d"; a bare number is refused: durations carry their unit.
Result<Duration> parse_duration(std::string_view text);
std::string format_duration(Duration duration);
/// The exact form that parse_duration reads back.
std::string format_duration_exact(Duration duration);

/// 4194304 -> "4,194,304".
std::string format_count(std::uint64_t count);

}  // namespace sluice
