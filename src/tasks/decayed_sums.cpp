#include "tasks/decayed_sums.h"

#include "tasks/pair_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::tasks {

DecayedSums::DecayedSums(std::span<const PairEvent> all, std::vector<double> clocks)
    : first_(all.data()),
      clocks_(std::move(clocks)),
      sums_(torch::zeros(
          {static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(clocks_.size())},
          torch::kFloat32)) {}

float* DecayedSums::sums_of(const PairEvent& event) const {
  const auto place = &event - first_;
  return sums_.data_ptr<float>() + place * static_cast<std::ptrdiff_t>(clocks_.size());
}

void DecayedSums::add(std::span<const PairEvent> list) {
  for (std::size_t c = 0; c < clocks_.size(); ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t since = i == 0 ? 0 : ticks_between(list[i - 1].time, list[i].time);
      sum = sum * std::exp(-static_cast<double>(since) / clocks_[c]) + 1;
      sums_of(list[i])[c] = static_cast<float>(sum);
    }
  }
}

void DecayedSums::at(std::span<const PairEvent> events,
                     std::int64_t time,
                     std::span<float> out) const {
  std::ranges::fill(out, 0.0F);
  if (events.empty()) return;
  const float* const sums = sums_of(events.back());
  const auto age = static_cast<double>(ticks_between(events.back().time, time));
  for (std::size_t c = 0; c < clocks_.size(); ++c)
    out[c] = static_cast<float>(static_cast<double>(sums[c]) * std::exp(-age / clocks_[c]));
}

}  // namespace sluice::tasks
