#include "forecast/drawn_windows.h"

#include <algorithm>
#include <cmath>

namespace sluice {

DrawnWindows::DrawnWindows(const RowSample& sample,
                           const RowPopularity& popularity,
                           std::span<const std::uint64_t> ends)
    : popularity_(popularity), ends_(ends), key_(RandomKey(1).with("drawn windows")) {
  const std::uint64_t rows = sample.size();
  class_of_.resize(rows);
  next_window_.assign(rows, kNone);
  next_in_list_.assign(rows, kNone);
  first_.assign(ends.size(), kNone);
  const RandomKey classes = key_.with("classes");
  for (std::uint64_t place = 0; place < rows; ++place) {
    class_of_[place] = static_cast<std::uint8_t>(
        popularity.draw_class(sample.asked_by(place), classes.uniform(place)));
    draw_next(static_cast<std::uint32_t>(place), 0);
  }
}

// The mini-batches until one asks for the row are geometrically distributed.
void DrawnWindows::draw_next(std::uint32_t place, std::uint64_t from_batch) {
  const double chance = this->chance(place);
  std::uint32_t& window = next_window_[place];
  window = kNone;
  if (chance <= 0 || from_batch >= ends_.back()) return;
  const double left = static_cast<double>(ends_.back() - from_batch);
  const double wait =
      chance >= 1 ? 0 : std::floor(std::log1p(-key_.uniform(draws_++)) / std::log1p(-chance));
  if (!(wait < left)) return;
  const std::uint64_t batch = from_batch + static_cast<std::uint64_t>(wait);
  window = static_cast<std::uint32_t>(std::ranges::upper_bound(ends_, batch) - ends_.begin());
  next_in_list_[place] = first_[window];
  first_[window] = place;
}

void DrawnWindows::next(std::vector<std::uint64_t>& places, std::vector<std::uint32_t>& next_uses) {
  places.clear();
  for (std::uint32_t place = first_[window_]; place != kNone; place = next_in_list_[place])
    places.push_back(place);
  std::ranges::sort(places);
  next_uses.clear();
  for (const std::uint64_t place : places) {
    draw_next(static_cast<std::uint32_t>(place), ends_[window_]);
    const std::uint32_t window = next_window_[place];
    next_uses.push_back(window == kNone ? kNeverUsed : window + 1);
  }
  ++window_;
}

}  // namespace sluice
