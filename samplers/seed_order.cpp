#include <sluice/samplers/seed_order.h>

#include <sluice/error.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

// The least base whose square is at least `size`.
std::uint64_t square_base(std::uint64_t size) {
  auto base = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size)));
  while (base * base < size) ++base;
  return std::max<std::uint64_t>(base, 1);
}

template <std::size_t... Round>
std::array<RandomKey, sizeof...(Round)> round_keys(RandomKey key, std::index_sequence<Round...>) {
  return {key.with(Round)...};
}

}  // namespace

Permutation::Permutation(std::uint64_t size, RandomKey key)
    : size_(size),
      low_base_(square_base(size)),
      high_base_(size == 0 ? 1 : (size + low_base_ - 1) / low_base_),
      keys_(round_keys(key, std::make_index_sequence<kRounds>())) {}

std::uint64_t Permutation::at(std::uint64_t place) const {
  assert(place < size_);
  // The digits span fewer than low_base numbers beyond size, so that a second walk is rare.
  do {
    std::uint64_t low = place % low_base_;
    std::uint64_t high = place / low_base_;
    for (int round = 0; round < kRounds; round += 2) {
      low = (low + keys_[static_cast<std::size_t>(round)].below(low_base_, high)) % low_base_;
      high =
          (high + keys_[static_cast<std::size_t>(round) + 1].below(high_base_, low)) % high_base_;
    }
    place = high * low_base_ + low;
  } while (place >= size_);
  return place;
}

SeedOrder::SeedOrder(std::span<const std::uint64_t> ids,
                     std::uint64_t batch_size,
                     Shuffle shuffle,
                     RandomKey key)
    : ids_(ids), batch_size_(batch_size), shuffle_(shuffle), key_(key) {
  if (batch_size == 0)
    throw Error(ErrorCode::kUsage, "a batch size of 0 gives no batches", "set it to 1 or more");
}

std::uint64_t SeedOrder::num_batches() const {
  return ids_.size() / batch_size_ + (ids_.size() % batch_size_ == 0 ? 0 : 1);
}

std::vector<std::uint64_t> SeedOrder::batch(std::uint64_t epoch, std::uint64_t index) const {
  assert(index < num_batches());
  const std::uint64_t first = index * batch_size_;
  const std::uint64_t count = std::min(batch_size_, ids_.size() - first);
  std::vector<std::uint64_t> seeds(count);
  if (shuffle_ == Shuffle::kOff) {
    std::copy_n(ids_.begin() + static_cast<std::ptrdiff_t>(first), count, seeds.begin());
    return seeds;
  }
  const Permutation order(ids_.size(), key_.with(epoch));
  for (std::uint64_t i = 0; i < count; ++i) seeds[i] = ids_[order.at(first + i)];
  return seeds;
}

}  // namespace sluice
