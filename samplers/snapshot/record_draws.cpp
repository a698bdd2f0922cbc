#include "samplers/snapshot/record_draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace sluice {

RecordDraws::RecordDraws(const SnapshotOptions& options, RandomKey key)
    : mode_(options.mode),
      gamma_(std::max<std::uint64_t>(
          static_cast<std::uint64_t>(std::llround(std::ldexp(options.gamma, kOneLog2))), 1)),
      key_(key) {}

Result<void> RecordDraws::reserve(std::size_t count, MemoryLedger* ledger) {
  if (auto room = chooser_.reserve(count, ledger); !room) return room;
  if (mode_ != SnapshotMode::kOnTheFly) return {};
  taken_.clear();
  if (auto room = taken_.reserve(count, ledger); !room) return room;
  return places_.ensure(count, ledger);
}

void RecordDraws::draw(std::uint64_t epoch,
                       std::uint64_t period,
                       std::uint64_t node,
                       std::uint64_t degree,
                       std::span<std::uint64_t> out) {
  if (out.size() == degree) {
    std::iota(out.begin(), out.end(), 0);
    return;
  }
  const RandomKey key = key_.with(epoch);
  if (mode_ == SnapshotMode::kOnTheFly) {
    draw_by_place(key.with(node), period, degree, out);
  } else {
    chooser_.choose(0, degree, key.with(period).with(node), out);
  }
}

// How often a place was drawn by a period, and when last. @param turn where in the cycle the record
// begins, so that not all records change the same places at once
RecordDraws::Place RecordDraws::place_of(std::size_t place,
                                         std::size_t count,
                                         std::uint64_t turn,
                                         std::uint64_t period) const {
  const std::uint64_t mask = (std::uint64_t{1} << kOneLog2) - 1;
  const std::uint64_t phase = ((std::uint64_t{place} << kOneLog2) / count + turn) & mask;
  const auto at = static_cast<unsigned __int128>(period) * gamma_ + phase;
  const auto version = static_cast<std::uint64_t>(at >> kOneLog2);
  std::uint64_t drawn = 0;
  if (version != 0) {
    const auto begun = (static_cast<unsigned __int128>(version) << kOneLog2) - phase;
    drawn = static_cast<std::uint64_t>((begun + gamma_ - 1) / gamma_);
  }
  return {drawn, static_cast<std::uint32_t>(place), version};
}

void RecordDraws::draw_by_place(RandomKey key,
                                std::uint64_t period,
                                std::uint64_t degree,
                                std::span<std::uint64_t> out) {
  const std::size_t count = out.size();
  const auto places = places_.first(count);
  const std::uint64_t turn = key.with("turn").draw(0) >> (64 - kOneLog2);
  for (std::size_t j = 0; j < count; ++j) places[j] = place_of(j, count, turn, period);
  std::ranges::sort(places, {}, [](const Place& one) { return std::tuple(one.drawn, one.place); });
  taken_.clear();
  for (const Place& one : places) {
    const RandomKey draws = key.with(one.place).with(one.version);
    // Draws of one key take each number of 64 bits once, so that this ends.
    for (std::uint64_t attempt = 0;; ++attempt) {
      const std::uint64_t number = draws.below(degree, attempt);
      const std::size_t before = taken_.size();
      taken_.insert(number);
      if (taken_.size() == before) continue;
      out[one.place] = number;
      break;
    }
  }
}

RecordDraws::Age RecordDraws::age(std::uint64_t period, std::size_t count) const {
  if (mode_ != SnapshotMode::kOnTheFly || count == 0) return {};
  Age age;
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint64_t periods = period - place_of(j, count, 0, period).drawn;
    age.mean += static_cast<double>(periods) / static_cast<double>(count);
    age.most = std::max(age.most, periods);
  }
  return age;
}

}  // namespace sluice
