// SeedOrder: the mini-batches of seeds of an epoch, any of them found directly.
//
// The order is a permutation of positions by (key, epoch), computed place by place: nothing of the
// size of the ids is kept or shuffled, and a resumed run finds its batch at once. Thread-safe.
#pragma once

#include <sluice/random.h>
#include <sluice/sampler.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A pseudo-random permutation of [0, size): a Feistel network on the numbers' two digits in base
/// ~sqrt(size), walked until it lands below size (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", 2002).
class Permutation {
 public:
  Permutation(std::uint64_t size, RandomKey key);

  std::uint64_t size() const noexcept { return size_; }
  /// @pre place < size()
  std::uint64_t at(std::uint64_t place) const;

 private:
  static constexpr int kRounds = 8;
  std::uint64_t size_;
  std::uint64_t low_base_;
  std::uint64_t high_base_;
  std::array<RandomKey, kRounds> keys_;
};

enum class Shuffle { kOff, kEveryEpoch };

class SeedOrder final : public BatchOrder {
 public:
  /// @param ids must outlive this. Throws kUsage for a batch size of 0.
  SeedOrder(std::span<const std::uint64_t> ids,
            std::uint64_t batch_size,
            Shuffle shuffle,
            RandomKey key);

  /// Mini-batches an epoch; the last may be short.
  std::uint64_t num_batches() const override;
  std::vector<std::uint64_t> batch(std::uint64_t epoch, std::uint64_t index) const override;

 private:
  std::span<const std::uint64_t> ids_;
  std::uint64_t batch_size_;
  Shuffle shuffle_;
  RandomKey key_;
};

}  // namespace sluice
