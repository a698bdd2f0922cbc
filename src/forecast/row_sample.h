// RowSample: a part of a table's rows that stands for all of them, and how many trial mini-batches
// asked for each.
//
// All rows where there is room, else whole stretches of the table, so that rows which lie together
// stay together: of equal groups of stretches, one each, drawn at random. Not thread-safe.
#pragma once

#include "forecast/row_popularity.h"
#include "storage/format/layout.h"

#include <sluice/memory.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class RowSample {
 public:
  /// Of at most so many rows, and at least one stretch. Charged as "forecast". Throws kResource.
  RowSample(const FeatureLayout& layout, std::uint64_t most_rows, MemoryLedger& ledger);

  /// Another trial mini-batch, which asks for what is added from here on. @pre at most 255 of them
  void begin_trial();
  /// It asks for these rows, some maybe several times. @pre begin_trial()
  void add(std::span<const std::uint64_t> rows);

  std::uint64_t size() const { return counts_.size(); }
  /// How many rows each row of the sample stands for.
  double scale() const { return static_cast<double>(rows_) / static_cast<double>(counts_.size()); }
  /// The row that is the sample's `place`-th; ascends with the place.
  std::uint64_t row_at(std::uint64_t place) const {
    return stretches_[place / stretch_rows_] * stretch_rows_ + place % stretch_rows_;
  }
  /// Trial mini-batches that asked for the row at the place.
  std::size_t asked_by(std::uint64_t place) const { return counts_[place]; }
  RowPopularity popularity() const;

 private:
  std::uint64_t rows_;          // of the table
  std::uint64_t stretch_rows_;  // the table's last stretch may be shorter
  Charge charge_;
  std::vector<std::uint64_t> stretches_;  // those of the sample, ascending
  std::vector<std::uint32_t> place_of_;  // by stretch of the table: which of the sample's, or kNone
  std::vector<std::uint8_t> counts_;     // by place
  std::vector<std::uint8_t> last_;       // the trial that asked last, from 1
  std::size_t trials_ = 0;
};

}  // namespace sluice
