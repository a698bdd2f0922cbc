#include "prep/table/raw_widths.h"

#include "storage/io/file.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kLookedBytes = 1 << 16;  // at each of three places
constexpr std::size_t kFewestNumbers = 4;

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

std::string wider_name(DType dtype, std::size_t bits) {
  const bool is_unsigned = dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
  return fmt::format("{}{}", is_unsigned ? 'u' : 'i', bits);
}

std::string doubt_of(const std::vector<std::uint64_t>& groups, DType dtype) {
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
