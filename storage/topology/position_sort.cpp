#include "storage/topology/position_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace sluice {
namespace {

constexpr unsigned kBinsLog2 = 12;
constexpr unsigned kDigitLog2 = 11;  // of the radix sort: counters that stay in the first cache
constexpr std::size_t kFew = 512;    // below this, comparing is faster than counting

// An offset within a stretch has 32 bits.
constexpr std::uint64_t kMaxStretch = std::uint64_t{1} << 32;
constexpr unsigned kMaxBinLog2 = 31;

WantedPosition* items(Array& array) {
  return static_cast<WantedPosition*>(array.data());
}

// One stable pass of a counting sort, by kDigitLog2 bits of the offset from `shift` on.
void sort_digit(std::span<const WantedPosition> from, WantedPosition* to, unsigned shift) {
  constexpr std::uint32_t kMask = (1u << kDigitLog2) - 1;
  std::array<std::uint32_t, std::size_t{1} << kDigitLog2> begins{};
  for (const WantedPosition& item : from) ++begins[item.offset >> shift & kMask];
  std::uint32_t sum = 0;
  for (std::uint32_t& begin : begins) sum += std::exchange(begin, sum);
  for (const WantedPosition& item : from) to[begins[item.offset >> shift & kMask]++] = item;
}

}  // namespace

PositionSort::PositionSort(std::uint64_t num_positions, std::size_t most, MemoryLedger* ledger)
    : num_positions_(num_positions),
      most_(std::clamp<std::size_t>(most, 1, kMaxPositions)),
      ledger_(ledger) {}

Result<void> PositionSort::start(std::span<const std::uint64_t> positions, unsigned page_log2) {
  positions_ = positions;
  page_log2_ = page_log2;
  stretch_ = 0;
  next_ = 0;
  if (auto room = reserve(std::min(most_, positions.size())); !room) return room;
  plan_stretches();
  return {};
}

Result<void> PositionSort::reserve(std::size_t count) {
  if (count <= capacity_) return {};
  capacity_ = 0;
  wanted_ = sorted_ = Array();
  const std::size_t room = std::min(most_, count + count / 4);
  for (Array* array : {&wanted_, &sorted_}) {
    static_assert(sizeof(WantedPosition) == sizeof(std::uint64_t));
    auto made =
        Array::make(DType::kU64, {static_cast<std::int64_t>(room)}, ledger_, "topology staging");
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
  }
  capacity_ = room;
  return {};
}

// Neighbouring bins of the file's positions are joined while their positions make one piece.
void PositionSort::plan_stretches() {
  stretches_.clear();
  if (positions_.size() <= most_ && num_positions_ <= kMaxStretch) {
    stretches_.push_back({0, num_positions_});
    return;
  }
  const auto width = static_cast<unsigned>(std::bit_width(num_positions_));
  const unsigned bin_log2 = std::clamp(width - std::min(width, kBinsLog2), page_log2_, kMaxBinLog2);
  bins_.assign((num_positions_ >> bin_log2) + 1, 0);
  for (const std::uint64_t position : positions_) ++bins_[position >> bin_log2];
  std::size_t count = 0;
  for (std::uint64_t bin = 0; bin < bins_.size(); ++bin) {
    if (bins_[bin] == 0) continue;
    const std::uint64_t first = bin << bin_log2;
    const std::uint64_t end = (bin + 1) << bin_log2;
    const bool joins =
        count != 0 && count + bins_[bin] <= most_ && end - stretches_.back().first <= kMaxStretch;
    if (joins) {
      stretches_.back().end = end;
      count += bins_[bin];
    } else {
      stretches_.push_back({first, end});
      count = bins_[bin];
    }
  }
}

PositionPiece PositionSort::next() {
  for (; stretch_ < stretches_.size(); ++stretch_, next_ = 0) {
    const Stretch& stretch = stretches_[stretch_];
    const std::size_t count = collect(stretch);
    if (count != 0) return {stretch.first, sort(count)};
  }
  return {};
}

std::size_t PositionSort::collect(const Stretch& stretch) {
  const std::uint64_t width = stretch.end - stretch.first;
  WantedPosition* out = items(wanted_);
  std::size_t count = 0;
  std::size_t at = next_;
  // Written whether it is wanted or not, and kept if it is: which, no branch could predict.
  for (; at < positions_.size() && count < capacity_; ++at) {
    const std::uint64_t offset = positions_[at] - stretch.first;
    out[count] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(at)};
    count += offset < width ? 1u : 0u;
  }
  next_ = at;
  return count;
}

std::span<const WantedPosition> PositionSort::sort(std::size_t count) {
  WantedPosition* from = items(wanted_);
  WantedPosition* to = items(sorted_);
  if (count <= kFew) {
    std::sort(from, from + count, [](const WantedPosition& a, const WantedPosition& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.index < b.index;
    });
    return {from, count};
  }
  std::uint32_t all = 0;
  for (const WantedPosition& item : std::span(from, count)) all |= item.offset;
  const auto bits = static_cast<unsigned>(std::bit_width(all));
  for (unsigned shift = page_log2_; shift < bits; shift += kDigitLog2) {
    sort_digit({from, count}, to, shift);
    std::swap(from, to);
  }
  return {from, count};
}

}  // namespace sluice
