#include "prep/features/column_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice {
namespace {

constexpr std::size_t kRanks = 6;  // two around each of three quartiles

/// Bits that ascend as the numbers do; -0 is 0.
std::uint64_t ordered_bits(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}

double from_ordered_bits(std::uint64_t bits) {
  return std::bit_cast<double>((bits >> 63) != 0 ? bits & ~(std::uint64_t{1} << 63) : ~bits);
}

/// The place of a quartile among `count` values in order: between two, and how far from the first.
struct QuartilePlace {
  std::uint64_t below;
  double share;
};

QuartilePlace place_of_quartile(std::uint64_t count, int which) {
  const std::uint64_t quarters = (count - 1) * static_cast<std::uint64_t>(which);
  return {quarters / 4, static_cast<double>(quarters % 4) / 4};
}

}  // namespace

void ColumnStatistics::Sum::add(double value) {
  const double next = total + value;
  lost += std::abs(total) >= std::abs(value) ? (total - next) + value : (value - next) + total;
  total = next;
}

ColumnStatistics::ColumnStatistics(std::uint32_t dim,
                                   const ReadRows& read,
                                   const CountsRow& counts,
                                   PrepContext& context)
    : dim_(dim), read_(read), counts_(counts), context_(context), columns_(dim) {}

template <class Take>
void ColumnStatistics::for_values(std::uint32_t first, std::uint32_t last, const Take& take) {
  constexpr std::uint32_t kColumns = 8;  // a task: side by side in memory
  std::vector<bool> counted;
  rows_ = 0;
  read_([&](std::uint64_t first_row, std::span<const double> values) {
    const std::size_t rows = values.size() / dim_;
    counted.assign(rows, true);
    for (std::size_t row = 0; counts_ && row < rows; ++row) counted[row] = counts_(first_row + row);
    rows_ += static_cast<std::uint64_t>(std::count(counted.begin(), counted.end(), true));
    context_.arena.for_ranges(last - first, kColumns, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = 0; row < rows; ++row) {
        if (!counted[row]) continue;
        for (std::size_t c = first + begin; c < first + end; ++c) {
          const double value = values[row * dim_ + c];
          if (!std::isnan(value)) take(c, value);
        }
      }
    });
  });
}

void ColumnStatistics::measure_sums() {
  for_values(0, dim_, [&](std::size_t c, double value) {
    Column& column = columns_[c];
    column.least = column.count == 0 ? value : std::min(column.least, value);
    column.largest = column.count == 0 ? value : std::max(column.largest, value);
    ++column.count;
    column.sum.add(value);
  });
  for (Column& column : columns_)
    if (column.count != 0) column.mean = column.sum.value() / static_cast<double>(column.count);
}

// By the distances from the mean, which is known, so that large values do not drown small ones.
void ColumnStatistics::measure_deviations() {
  for (Column& column : columns_) column.sum = {};
  for_values(0, dim_, [&](std::size_t c, double value) {
    Column& column = columns_[c];
    const double distance = value - column.mean;
    column.sum.add(distance * distance);
  });
  for (Column& column : columns_) {
    if (column.count != 0)
      column.deviation = std::sqrt(column.sum.value() / static_cast<double>(column.count));
    // The mean of equal values may be off by its last bit: they deviate by nothing.
    if (column.least == column.largest) column.deviation = 0;
  }
}

std::uint32_t ColumnStatistics::columns_at_a_time() const {
  const std::uint64_t one = kRanks * kBuckets * sizeof(std::uint64_t);
  const std::uint64_t most = context_.ledger.available() / 8 / one;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, std::min(dim_, 256u)));
}

void ColumnStatistics::measure_quartiles() {
  const std::uint32_t step = columns_at_a_time();
  for (std::uint32_t first = 0; first < dim_; first += step)
    rank_columns(first, std::min(first + step, dim_));
}

// Digit by digit from the highest: how many values begin with each digit tells which one the value
// of a rank begins with, and its rank among those.
void ColumnStatistics::rank_columns(std::uint32_t first, std::uint32_t last) {
  const std::size_t columns = last - first;
  const Charge charge =
      context_.ledger
          .charge("statistics of columns", columns * kRanks * kBuckets * sizeof(std::uint64_t))
          .or_throw();
  std::vector<std::uint64_t> counts(columns * kRanks * kBuckets);
  std::vector<std::array<Wanted, kRanks>> wanted(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::uint64_t count = columns_[first + c].count;
    for (int which = 1; which <= 3 && count != 0; ++which) {
      const std::uint64_t below = place_of_quartile(count, which).below;
      const auto at = 2 * static_cast<std::size_t>(which - 1);
      wanted[c][at].rank = below;
      wanted[c][at + 1].rank = std::min(below + 1, count - 1);
    }
  }
  for (int shift = 64 - kDigit; shift >= 0; shift -= kDigit) {
    std::fill(counts.begin(), counts.end(), 0);
    const auto same_before = [&](std::uint64_t bits, const Wanted& one) {
      return shift == 64 - kDigit || bits >> (shift + kDigit) == one.prefix >> (shift + kDigit);
    };
    for_values(first, last, [&](std::size_t column, double value) {
      const std::size_t c = column - first;
      const std::uint64_t bits = ordered_bits(value);
      for (std::size_t i = 0; i < kRanks; ++i) {
        if (!same_before(bits, wanted[c][i])) continue;
        ++counts[(c * kRanks + i) * kBuckets + (bits >> shift & (kBuckets - 1))];
      }
    });
    for (std::size_t c = 0; c < columns; ++c) {
      if (columns_[first + c].count == 0) continue;
      for (std::size_t i = 0; i < kRanks; ++i) {
        const std::uint64_t* const of = counts.data() + (c * kRanks + i) * kBuckets;
        std::uint64_t digit = 0;
        for (; wanted[c][i].rank >= of[digit]; ++digit) wanted[c][i].rank -= of[digit];
        wanted[c][i].prefix |= digit << shift;
      }
    }
  }
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t i = 0; i < kRanks; ++i)
      columns_[first + c].ranked[i] = from_ordered_bits(wanted[c][i].prefix);
}

double ColumnStatistics::quartile(std::uint32_t column, int which) const {
  const Column& of = columns_[column];
  const auto at = 2 * static_cast<std::size_t>(which - 1);
  const double below = of.ranked[at], above = of.ranked[at + 1];
  const double share = place_of_quartile(of.count, which).share;
  // As NumPy reckons it, from the nearer of the two.
  return share < 0.5 ? below + (above - below) * share : above - (above - below) * (1 - share);
}

}  // namespace sluice
