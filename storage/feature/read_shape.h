// ReadShape: how the missing rows of a window lie in their table, summed up so that every way of
// merging their pages into requests can be priced without looking at the rows again.
//
// Made by ReadShapeBuilder in one pass over ascending rows, in constant memory. Exact: for each
// rule of merging it holds the requests that rule makes. Plain values; a builder is one thread's.
#pragma once

#include "storage/feature/wanted_rows.h"
#include "storage/format/layout.h"
#include "storage/io/disk_profile.h"

#include <array>
#include <cstdint>

namespace sluice {

/// How pages become requests: neighbours merge when at most `gap_pages` pages that nobody needs lie
/// between them and the request stays within `max_pages`. A row is never cut: one that is wider
/// than `max_pages` is a request of its own, and where a request is full the next one begins with
/// the first page of the next row.
struct MergeRule {
  std::uint32_t gap_pages = 0;
  std::uint32_t max_pages = 16;
  friend bool operator==(const MergeRule&, const MergeRule&) = default;
};

/// Requests by length, in classes between the sizes of a DiskProfile's table. Seconds are linear
/// within a class, so that a class's number and bytes give its seconds exactly.
class RequestMix {
 public:
  void add(std::uint64_t pages);

  std::uint64_t requests() const;
  std::uint64_t bytes() const;
  /// Steady-state seconds of all.
  double seconds(const DiskProfile& disk) const;

 private:
  struct Class {
    std::uint64_t requests = 0;
    std::uint64_t pages = 0;
  };
  std::array<Class, DiskRates::kRequestBytes.size() + 1> classes_{};
};

struct ReadShape {
  /// Of the direct plan, and of sweeps by the gap they read through.
  static constexpr MergeRule kDirect{0, 16};
  static constexpr std::array<MergeRule, 9> kSweeps{{{0, 256},
                                                     {1, 256},
                                                     {2, 256},
                                                     {4, 256},
                                                     {8, 256},
                                                     {16, 256},
                                                     {32, 256},
                                                     {64, 256},
                                                     {128, 256}}};

  std::uint64_t rows = 0;   ///< distinct
  std::uint64_t pages = 0;  ///< distinct pages that hold a part of them
  std::uint64_t row_bytes = 0;
  std::uint64_t table_bytes = 0;
  RequestMix direct;
  std::array<RequestMix, kSweeps.size()> sweeps{};

  std::uint64_t useful_bytes() const { return rows * row_bytes; }
};

class ReadShapeBuilder {
 public:
  explicit ReadShapeBuilder(const FeatureLayout& layout);

  /// @pre not below the row before, and in the table; a row that is repeated counts once
  void add(std::uint64_t row);
  /// What was added; the builder begins anew.
  ReadShape finish();

 private:
  static constexpr std::size_t kRules = ReadShape::kSweeps.size() + 1;  // direct is the last

  RequestMix& mix(std::size_t rule);

  FeatureLayout layout_;
  ReadShape shape_;
  std::array<std::uint64_t, kRules> first_page_{};  // of the open request of each rule
  std::uint64_t last_row_ = 0;
  std::uint64_t end_page_ = 0;  // of all rows so far, and so of every open request
};

/// Of rows in ascending order. Where they are so many that looking at all of them would keep a
/// disk waiting, beyond kLookedAt, of stretches of them only: their shape says as well which way
/// of reading is the best, and what that costs a row.
inline constexpr std::size_t kLookedAt = 1 << 14;
ReadShape read_shape_of_many(const WantedRows& sorted_rows, const FeatureLayout& layout);

}  // namespace sluice
