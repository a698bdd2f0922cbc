// DrawnWindows: which rows of a sample the windows of an epoch ask for, drawn by how likely each
// mini-batch is to ask for each. Windows come in order; a row's next use is drawn when it is used,
// so it is known, as a PlannedEpoch would know it. 9 bytes a row of the sample. One thread.
#pragma once

#include "forecast/row_sample.h"
#include "storage/feature/row_directory.h"

#include <sluice/random.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class DrawnWindows final : public LookAhead {
 public:
  static constexpr std::uint64_t kBytesARow = 9;

  /// @param ends by window: the mini-batch after its last. Borrowed, as the sample is
  DrawnWindows(const RowSample& sample,
               const RowPopularity& popularity,
               std::span<const std::uint64_t> ends);

  /// The next window: places in the sample, and for each the window that asks for it next.
  /// Windows are counted from 1 as a RowCache does.
  void next(std::vector<std::uint64_t>& places, std::vector<std::uint32_t>& next_uses);

  /// Of the window that next() will give, and no later one: what is known without a plan.
  std::uint32_t next_use(std::uint64_t place) const override {
    return next_window_[place] == window_ ? window_ + 1 : kNeverUsed;
  }
  /// The chance that a mini-batch asks for a row.
  double chance(std::uint64_t place) const { return popularity_.chance(class_of_[place]); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void draw_next(std::uint32_t place, std::uint64_t from_batch);

  const RowPopularity& popularity_;
  std::span<const std::uint64_t> ends_;
  RandomKey key_;
  std::uint64_t draws_ = 0;
  std::uint32_t window_ = 0;
  std::vector<std::uint8_t> class_of_;
  std::vector<std::uint32_t> next_window_;   // by place, counted from 0
  std::vector<std::uint32_t> next_in_list_;  // by place: another one that its window asks for
  std::vector<std::uint32_t> first_;         // by window: of its list
};

}  // namespace sluice
