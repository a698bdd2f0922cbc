#include <sluice/units.h>

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr std::array<Unit, 14> kByteUnits{{{"b", 1},
                                           {"", 1},
                                           {"kib", kKiB},
                                           {"mib", kMiB},
                                           {"gib", kGiB},
                                           {"tib", 1024 * kGiB},
                                           {"kb", 1000},
                                           {"mb", 1000'000},
                                           {"gb", 1000'000'000},
                                           {"tb", 1000'000'000'000},
                                           {"k", kKiB},
                                           {"m", kMiB},
                                           {"g", kGiB},
                                           {"t", 1024 * kGiB}}};

constexpr std::array<Unit, 9> kTimeUnits{{{"ns", 1},
                                          {"us", 1000},
                                          {"ms", 1000'000},
                                          {"s", 1000'000'000},
                                          {"sec", 1000'000'000},
                                          {"min", 60'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"h", 3600'000'000'000},
                                          {"d", 86400'000'000'000}}};

// Splits "1.5 GiB" into its number and the scale of its unit.
Result<std::uint64_t> parse_scaled(std::string_view text,
                                   std::span<const Unit> units,
                                   const Error& malformed) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  double number = 0;
  const char* const begin = text.data();
  const auto [end, problem] =
      std::from_chars(begin, begin + text.size(), number, std::chars_format::fixed);
  if (problem != std::errc{} || !(number >= 0)) return malformed;  // from_chars takes "nan"
  std::string suffix;
  for (const char c : text.substr(static_cast<std::size_t>(end - begin))) {
    if (!std::isspace(static_cast<unsigned char>(c))) {
      suffix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  for (const Unit& unit : units) {
    if (unit.name != suffix) continue;
    // Whole numbers are scaled in integers, so that no byte is lost above 2^53.
    std::uint64_t whole = 0;
    const auto integer = std::from_chars(begin, end, whole);
    if (integer.ec == std::errc{} && integer.ptr == end) {
      if (whole > ~std::uint64_t{0} / unit.scale) return malformed;
      return whole * unit.scale;
    }
    const double scaled = number * static_cast<double>(unit.scale);
    if (scaled >= 18446744073709551615.0) return malformed;
    return static_cast<std::uint64_t>(std::llround(scaled));
  }
  return malformed;
}

std::string trim_number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Result<ByteSize> parse_bytes(std::string_view text) {
  auto bytes = parse_scaled(text,
                            kByteUnits,
                            Error(ErrorCode::kUsage,
                                  fmt::format("'{}' is not a size", text),
                                  "write a number and a unit, such as \"512MiB\" or \"2GiB\""));
  if (!bytes) return std::move(bytes).error();
  return ByteSize{bytes.value()};
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", trim_number(value), kUnits[unit]);
}

std::string format_bytes_exact(std::uint64_t bytes) {
  for (const auto& [name, scale] :
       {std::pair{"GiB", kGiB}, std::pair{"MiB", kMiB}, std::pair{"KiB", kKiB}}) {
    if (bytes != 0 && bytes % scale == 0) return fmt::format("{}{}", bytes / scale, name);
  }
  return fmt::format("{}B", bytes);
}

Result<Duration> parse_duration(std::string_view text) {
  const Error malformed(ErrorCode::kUsage,
                        fmt::format("'{}' is not a duration", text),
                        "write a number and a unit, such as \"30s\" or \"5min\"");
  auto ns = parse_scaled(text, kTimeUnits, malformed);
  if (!ns) return std::move(ns).error();
  if (ns.value() > static_cast<std::uint64_t>(Duration::max().count())) return malformed;
  return Duration(static_cast<std::int64_t>(ns.value()));
}

std::string format_duration(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 1e-3) return trim_number(seconds * 1e6) + " us";
  if (seconds < 1) return trim_number(seconds * 1e3) + " ms";
  if (seconds < 120) return trim_number(seconds) + " s";
  const auto minutes = static_cast<std::int64_t>(seconds / 60);
  if (minutes < 120)
    return fmt::format("{} min {:.0f} s", minutes, seconds - 60.0 * static_cast<double>(minutes));
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string format_duration_exact(Duration duration) {
  const std::int64_t ns = duration.count();
  using Scale = std::pair<const char*, std::int64_t>;
  for (const auto& [name, scale] : {Scale{"h", 3600'000'000'000},
                                    Scale{"min", 60'000'000'000},
                                    Scale{"s", 1000'000'000},
                                    Scale{"ms", 1000'000}}) {
    if (ns != 0 && ns % scale == 0) return fmt::format("{}{}", ns / scale, name);
  }
  return fmt::format("{}ns", ns);
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

}  // namespace sluice
