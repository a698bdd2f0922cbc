// Counter-based random numbers: a draw is a pure function of a key and a counter.
//
// There is no generator state, so results depend on neither threads, nor order, nor batch mates. A
// key is built by folding in what the draw may depend on:
// RandomKey(seed).with(epoch).with(round).with(node)...; `draw(i)` is then the i-th output of
// SplitMix64 (Steele, Lea, Flood 2014) started at that key, reached directly.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

class RandomKey {
 public:
  explicit constexpr RandomKey(std::uint64_t seed) : state_(mix(seed + kGolden)) {}

  /// The key of a sub-stream; different values give independent streams.
  constexpr RandomKey with(std::uint64_t value) const {
    RandomKey key = *this;
    key.state_ = mix((state_ ^ mix(value + kGolden)) * kOdd + kGolden);
    return key;
  }

  /// The key of a named sub-stream ("features", "split", ...).
  constexpr RandomKey with(std::string_view name) const {
    std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a: only to tell names apart
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return with(hash);
  }

  /// 64 random bits.
  constexpr std::uint64_t draw(std::uint64_t counter) const {
    return mix(state_ + (counter + 1) * kGolden);
  }

  /// Uniform in [0, bound) by multiply-shift; the bias is below bound / 2^64. @pre bound > 0
  constexpr std::uint64_t below(std::uint64_t bound, std::uint64_t counter) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(draw(counter)) * bound) >>
                                      64);
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t counter) const {
    return static_cast<double>(draw(counter) >> 11) * 0x1.0p-53;
  }

  friend constexpr bool operator==(const RandomKey&, const RandomKey&) = default;

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;
  static constexpr std::uint64_t kOdd = 0xd1342543de82ef95ull;

  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }

  std::uint64_t state_;
};

}  // namespace sluice
