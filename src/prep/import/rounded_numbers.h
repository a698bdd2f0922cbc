// Whole numbers that f32 does not tell apart, as ids, times and cents are: which features are such
// (RoundedNumbers), and which of the amounts beside edges and nodes (RoundedAmount). Private to
// src/prep/import.
#pragma once

#include <sluice/dtype.h>
#include <sluice/threads.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The first of the amounts that were looked at, one by one, that f32 rounds.
class RoundedAmount {
 public:
  void look(double value);

  /// What was found, a sentence; empty: nothing. @param what the amounts are, such as "weights"
  std::string remark(std::string_view what) const;

 private:
  double value_ = 0;  // 0: none
};

class RoundedNumbers {
 public:
  /// @param from, stored of the elements as they are read, and as they are stored
  RoundedNumbers(DType from, DType stored, std::uint32_t dim);

  /// Looks at rows, up to the first of which some are rounded.
  void look(std::span<const std::byte> elements, ThreadArena& arena);

  /// What was found, a sentence; empty: nothing. @param name_of a column
  std::string remark(const std::function<std::string(std::uint32_t)>& name_of) const;

 private:
  DType from_;
  std::uint32_t dim_;
  bool looking_;
  std::vector<std::uint32_t> columns_;  // in the order in which they were found
  double value_ = 0;                    // of the first
};

}  // namespace sluice
