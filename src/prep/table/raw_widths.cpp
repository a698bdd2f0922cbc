#include "prep/table/raw_widths.h"

#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kLookedBytes = 1 << 16;  // at each of three places
constexpr std::size_t kFewestNumbers = 4;
constexpr std::size_t kFewestFloats = 32;

/// Whole groups of 8 bytes from the beginning, the middle and the end of what is behind the header.
std::vector<std::uint64_t> look_into(const std::filesystem::path& path, std::uint64_t header) {
  const File file = File::open_read(path).or_throw();
  const std::uint64_t bytes = file.size().or_throw();
  const std::uint64_t words = bytes < header ? 0 : (bytes - header) / sizeof(std::uint64_t);
  constexpr std::uint64_t kLooked = kLookedBytes / sizeof(std::uint64_t);
  std::vector<std::uint64_t> all;
  std::uint64_t next = 0;
  for (const std::uint64_t from : {std::uint64_t{0}, words / 2, words - std::min(words, kLooked)}) {
    const std::uint64_t first = std::max(from, next), last = std::min(from + kLooked, words);
    if (first >= last) continue;
    next = last;
    const std::size_t had = all.size();
    all.resize(had + (last - first));
    file.read_at(header + first * sizeof(std::uint64_t),
                 std::as_writable_bytes(std::span(all).subspan(had)))
        .or_throw();
  }
  return all;
}

/// Integers, by the unsigned type of as many bytes.
template <class Word>
std::vector<Word> as_words(const std::vector<std::uint64_t>& groups) {
  std::vector<Word> words(groups.size() * sizeof(std::uint64_t) / sizeof(Word));
  if (!words.empty()) std::memcpy(words.data(), groups.data(), words.size() * sizeof(Word));
  return words;
}

/// Whether each `many` numbers, little-endian, are one small number and its sign.
template <class Word>
bool are_one(std::span<const Word> words, std::size_t many) {
  bool any = false;
  for (std::size_t i = 0; i + many <= words.size(); i += many) {
    const bool negative = words[i] >> (8 * sizeof(Word) - 1) != 0;
    const Word sign = words[i + many - 1];
    const bool extended = sign == 0 || (negative && sign == static_cast<Word>(~Word{0}));
    for (std::size_t k = many / 2; k < many; ++k)
      if (!extended || words[i + k] != sign) return false;
    any = any || words[i] != 0;
  }
  return any && words.size() >= kFewestNumbers * many;
}

/// Whether numbers of 64 bits seem to be two of 32 each: both small, and the upper ones as
/// different as those of times and compound keys are not.
bool are_pairs(const std::vector<std::uint64_t>& numbers) {
  if (numbers.size() < kFewestNumbers) return false;
  const std::uint64_t bound = numbers.size() < 64 ? std::uint64_t{1} << 24 : std::uint64_t{1} << 31;
  std::unordered_set<std::uint64_t> upper;
  std::size_t large = 0;
  for (const std::uint64_t number : numbers) {
    const std::uint64_t low = number & 0xffffffffu, high = number >> 32;
    if (low >= bound || high >= bound) return false;
    large += high != 0 ? 1 : 0;
    upper.insert(high);
  }
  return 2 * large >= numbers.size() && 16 * upper.size() > numbers.size() && upper.size() > 2;
}

/// Whether f32 of these bits is 0, missing or infinite, or of a size that features have.
bool is_usual(std::uint32_t bits) {
  constexpr std::uint32_t kSign = 0x8000'0000, kMissing = 0x7fc0'0000, kInfinite = 0x7f80'0000;
  constexpr std::uint32_t kSmallest = (127 - 40) << 23, kLargest = (127 + 40) << 23;  // 2^-40, 2^40
  const std::uint32_t size = bits & ~kSign;
  return size == 0 || size == kMissing || size == kInfinite ||
         (size >= kSmallest && size < kLargest);
}

/// The same of f64. One of two f32 has that size as well: they differ in every second f32 alone.
bool is_usual(std::uint64_t bits) {
  constexpr std::uint64_t kSmallest = std::uint64_t{1023 - 64} << 52;
  constexpr std::uint64_t kLargest = std::uint64_t{1023 + 64} << 52;
  const std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
  return size == 0 || (size >= kSmallest && size < kLargest);
}

/// Whether a number is a small whole one, in f64.
bool is_count(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return std::abs(value) < (1 << 24) && std::trunc(value) == value;
}

/// What floats of 64 bits are as two of 32 each.
struct Halves {
  std::size_t odd_low = 0;           // lower halves that are no usual f32
  std::size_t filled_low = 0;        // lower halves that are not 0
  std::size_t odd_high = 0;          // upper halves that are no usual f32
  bool usual = true, counts = true;  // all of the f64
  std::unordered_set<std::uint64_t> different;

  explicit Halves(const std::vector<std::uint64_t>& groups) {
    constexpr std::size_t kCounted = 8;
    for (const std::uint64_t bits : groups) {
      const auto low = static_cast<std::uint32_t>(bits),
                 high = static_cast<std::uint32_t>(bits >> 32);
      odd_low += is_usual(low) ? 0u : 1u;
      filled_low += low != 0 ? 1u : 0u;
      odd_high += is_usual(high) ? 0u : 1u;
      usual = usual && is_usual(bits);
      counts = counts && is_count(bits);
      if (different.size() < kCounted) different.insert(bits);
    }
  }
};

/// Whether floats that are read as f32 are f64: every second one has a size that no feature has,
/// or all are counts.
bool are_doubles(const std::vector<std::uint64_t>& groups) {
  const Halves halves(groups);
  if (groups.size() < kFewestNumbers || !halves.usual || halves.odd_high != 0) return false;
  constexpr std::size_t kFewestCounts = 4;
  return halves.odd_low * 8 > groups.size() ||
         (halves.counts && halves.filled_low == 0 && halves.different.size() >= kFewestCounts);
}

/// Whether floats that are read as f64 are two f32 each.
bool are_singles(const std::vector<std::uint64_t>& groups) {
  const Halves halves(groups);
  return groups.size() >= kFewestFloats && halves.odd_low == 0 && halves.odd_high == 0 &&
         halves.filled_low * 2 > groups.size();
}

std::string wider_name(DType dtype, std::size_t bits) {
  const bool is_unsigned = dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
  return fmt::format("{}{}", is_unsigned ? 'u' : 'i', bits);
}

std::string doubt_of(const std::vector<std::uint64_t>& groups, DType dtype) {
  if (dtype == DType::kF32 && are_doubles(groups))
    return "read as f32, its numbers seem to be the halves of wider ones: is its dtype \"f64\"?";
  if (dtype == DType::kF64 && are_singles(groups))
    return "read as f64, its numbers seem to be two of 32 bits each: is its dtype \"f32\"?";
  std::size_t many = 0;
  if (dtype == DType::kI32 || dtype == DType::kU32) {
    if (are_one<std::uint32_t>(as_words<std::uint32_t>(groups), 2)) many = 2;
  } else if (dtype == DType::kI16 || dtype == DType::kU16) {
    const auto words = as_words<std::uint16_t>(groups);
    if (are_one<std::uint16_t>(words, 2)) many = 2;
    if (are_one<std::uint16_t>(words, 4)) many = 4;
  } else if ((dtype == DType::kI64 || dtype == DType::kU64) && are_pairs(groups)) {
    return fmt::format(
        "read as {}, its numbers seem to be two of 32 bits each, such as {}, which is {} and {}: "
        "is its dtype \"{}\"?",
        to_string(dtype),
        groups.back(),
        groups.back() & 0xffffffffu,
        groups.back() >> 32,
        wider_name(dtype, 32));
  }
  if (many == 0) return {};
  return fmt::format(
      "read as {}, {} 0, as those of wider integers are: is its dtype "
      "\"{}\"?",
      to_string(dtype),
      many == 2 ? "every second number is" : "two of each four numbers are",
      wider_name(dtype, 8 * size_of(dtype) * many));
}

}  // namespace

std::string raw_width_doubt(const std::filesystem::path& path, DType dtype, std::uint64_t header) {
  try {
    return doubt_of(look_into(path, header), dtype);
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return {};  // those who read it say so
  }
}

}  // namespace sluice
