#include "prep/import/rounded_numbers.h"

#include "prep/features/elements.h"
#include "prep/features/load_element.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

namespace sluice {
namespace {

constexpr double kAllInF32 = 16777216;          // up to it f32 holds all whole numbers
constexpr double kAllInF64 = 9007199254740992;  // beyond it all f64 are whole
constexpr std::size_t kRoundedGrain = 65536;    // elements a task

/// Whether an element is a whole number that f32 rounds.
template <class T>
bool is_rounded(T element) {
  const auto value = static_cast<double>(element);
  if (!(std::abs(value) > kAllInF32)) return false;
  if (std::is_floating_point_v<T> && (!(std::abs(value) < kAllInF64) || std::trunc(value) != value))
    return false;
  return static_cast<double>(static_cast<float>(value)) != value;
}

/// What happens to such a number, up to what to do about it.
std::string rounding(double value) {
  return fmt::format("whole numbers beyond 2^24 are rounded to f32, such as {:.0f} to {:.0f}",
                     value,
                     static_cast<double>(static_cast<float>(value)));
}

/// The places of such elements in [begin, end), one by one, until take(place) says false.
template <class Take>
void find_rounded(DType from,
                  std::span<const std::byte> elements,
                  std::size_t begin,
                  std::size_t end,
                  const Take& take) {
  const auto look = [&]<class T>(T /*tag*/) {
    for (std::size_t i = begin; i < end; ++i)
      if (is_rounded(load_element<T>(elements.data(), i)) && !take(i)) return;
  };
  if (from == DType::kF64) look(double{});
  if (from == DType::kI64) look(std::int64_t{});
  if (from == DType::kI32) look(std::int32_t{});
  if (from == DType::kU64) look(std::uint64_t{});
  if (from == DType::kU32) look(std::uint32_t{});
}

}  // namespace

void RoundedAmount::look(double value) {
  if (value_ == 0 && is_rounded(value)) value_ = value;
}

std::string RoundedAmount::remark(std::string_view what) const {
  if (value_ == 0) return {};
  return fmt::format("{}: {}; divide them where their last digits matter, or leave them so",
                     what,
                     rounding(value_));
}

RoundedNumbers::RoundedNumbers(DType from, DType stored, std::uint32_t dim)
    : from_(from), dim_(dim), looking_(stored == DType::kF32 && size_of(from) >= sizeof(float)) {}

void RoundedNumbers::look(std::span<const std::byte> elements, ThreadArena& arena) {
  if (!looking_) return;
  const std::size_t count = elements.size() / size_of(from_);
  std::atomic<bool> any = false;
  arena.for_ranges(count, kRoundedGrain, [&](std::size_t begin, std::size_t end) {
    find_rounded(from_, elements, begin, end, [&](std::size_t) {
      any = true;
      return false;
    });
  });
  if (!any) return;
  looking_ = false;
  constexpr std::size_t kMostNamed = 4;
  find_rounded(from_, elements, 0, count, [&](std::size_t place) {
    const auto column = static_cast<std::uint32_t>(place % dim_);
    if (columns_.empty()) value_ = element_as_double(from_, elements, place);
    if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
    return columns_.size() < kMostNamed;
  });
}

std::string RoundedNumbers::remark(const std::function<std::string(std::uint32_t)>& name_of) const {
  if (columns_.empty()) return {};
  std::vector<std::string> names;
  names.reserve(columns_.size());
  for (const std::uint32_t column : columns_) names.push_back(name_of(column));
  return fmt::format(
      "{}: those of {}; leave ids out by features.columns, and let features.scale bring times and "
      "amounts to one scale",
      rounding(value_),
      fmt::join(names, ", "));
}

}  // namespace sluice
