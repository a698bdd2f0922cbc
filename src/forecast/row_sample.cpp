#include "forecast/row_sample.h"

#include <sluice/random.h>
#include <sluice/units.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint64_t kStretchBytes = kMiB;  // no request is longer
constexpr std::uint64_t kLeastStretches = 64;

std::uint64_t rows_of_a_stretch(const FeatureLayout& layout, std::uint64_t most_rows) {
  const std::uint64_t page = std::max<std::uint64_t>(layout.rows_per_page, 1);
  const std::uint64_t wanted = std::min(kStretchBytes / std::max(layout.row_bytes, 1u),
                                        std::min(most_rows, layout.rows) / kLeastStretches);
  return std::max<std::uint64_t>(wanted / page, 1) * page;
}

}  // namespace

RowSample::RowSample(const FeatureLayout& layout, std::uint64_t most_rows, MemoryLedger& ledger)
    : rows_(layout.rows), stretch_rows_(rows_of_a_stretch(layout, most_rows)) {
  const std::uint64_t all = (rows_ + stretch_rows_ - 1) / stretch_rows_;
  const std::uint64_t taken =
      std::clamp<std::uint64_t>(std::min(most_rows, rows_) / stretch_rows_, 1, all);
  const std::uint64_t kept = rows_ <= most_rows ? all : taken;
  charge_ =
      ledger
          .charge("forecast",
                  all * sizeof(std::uint32_t) +
                      kept * (sizeof(std::uint64_t) + 2 * stretch_rows_ * sizeof(std::uint8_t)))
          .or_throw();
  place_of_.assign(all, kNone);
  const RandomKey key = RandomKey(1).with("row sample");
  std::uint64_t size = 0;
  for (std::uint64_t group = 0; group < kept; ++group) {
    const std::uint64_t first = all * group / kept;
    const std::uint64_t end = all * (group + 1) / kept;
    const std::uint64_t chosen = first + key.below(end - first, group);
    place_of_[chosen] = static_cast<std::uint32_t>(stretches_.size());
    stretches_.push_back(chosen);
    size += std::min(stretch_rows_, rows_ - chosen * stretch_rows_);
  }
  counts_.assign(size, 0);
  last_.assign(size, 0);
}

void RowSample::begin_trial() {
  ++trials_;
}

void RowSample::add(std::span<const std::uint64_t> rows) {
  for (const std::uint64_t row : rows) {
    const std::uint32_t stretch = place_of_[row / stretch_rows_];
    if (stretch == kNone) continue;
    const std::uint64_t at = stretch * stretch_rows_ + row % stretch_rows_;
    // A mini-batch may ask for a row several times: with times, or through edges of two layers.
    if (std::exchange(last_[at], static_cast<std::uint8_t>(trials_)) != trials_) ++counts_[at];
  }
}

RowPopularity RowSample::popularity() const {
  std::vector<std::uint64_t> asked_by(trials_ + 1);
  for (const std::uint8_t count : counts_) ++asked_by[count];
  return RowPopularity(asked_by);
}

}  // namespace sluice
