// ColumnStatistics: the mean, deviation, range and quartiles of columns, over rows that are read as
// often as it takes. Exact: sums are compensated and added up in the order of the rows, quartiles
// are the values themselves (and what lies between two of them, as NumPy's percentile has it).
// Columns are shared out over threads; the result does not depend on their number. Private to
// feature_scaling.
#pragma once

#include "prep/features/feature_scaling.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sluice {

class ColumnStatistics {
 public:
  /// All outlive this.
  ColumnStatistics(std::uint32_t dim,
                   const ReadRows& read,
                   const CountsRow& counts,
                   PrepContext& context);

  void measure_sums();        ///< first: count, mean, least, largest
  void measure_deviations();  ///< one more reading
  void measure_quartiles();   ///< four more, or more where memory is short

  std::uint64_t rows() const { return rows_; }  ///< that count
  std::uint64_t count(std::uint32_t column) const { return columns_[column].count; }
  double mean(std::uint32_t column) const { return columns_[column].mean; }
  double least(std::uint32_t column) const { return columns_[column].least; }
  double largest(std::uint32_t column) const { return columns_[column].largest; }
  /// The standard deviation of the values that there are, not of those they may stand for.
  double deviation(std::uint32_t column) const { return columns_[column].deviation; }
  /// @param which 1, 2 (the median) or 3
  double quartile(std::uint32_t column, int which) const;

 private:
  static constexpr int kDigit = 16;  // bits of a value that one reading settles
  static constexpr std::size_t kBuckets = std::size_t{1} << kDigit;

  /// A sum that carries along what rounding loses (Neumaier's).
  struct Sum {
    double total = 0, lost = 0;
    void add(double value);
    double value() const { return total + lost; }
  };
  struct Column {
    std::uint64_t count = 0;
    double mean = 0, least = 0, largest = 0, deviation = 0;
    Sum sum;
    std::array<double, 6> ranked{};  // the values around each quartile
  };
  /// A value that is looked for by its rank: its first bits, and how many with these come before
  /// it.
  struct Wanted {
    std::uint64_t prefix = 0;
    std::uint64_t rank = 0;
  };

  /// Calls take(column, value) for the values of columns [first, last) in rows that count.
  template <class Take>
  void for_values(std::uint32_t first, std::uint32_t last, const Take& take);
  void rank_columns(std::uint32_t first, std::uint32_t last);
  std::uint32_t columns_at_a_time() const;

  std::uint32_t dim_;
  const ReadRows& read_;
  const CountsRow& counts_;
  PrepContext& context_;
  std::uint64_t rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace sluice
