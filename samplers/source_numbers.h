// SourceNumbers: a random number for each source node of a layer, which all targets of the layer
// share (LABOR: Balin and Catalyurek, "Layer-Neighbor Sampling", NeurIPS 2023).
//
// A pure function of keys and the node. The numbers may also pass slowly from those of one key to
// those of another (Balin and others, "Cooperative Minibatching in Graph Neural Networks"): Phi(cos
// a * n(from) + sin a * n(to)), n normal: still uniform at each step, and independent of other
// nodes'. Thread-safe.
#pragma once

#include "samplers/portable_normal.h"

#include <sluice/random.h>

#include <cstddef>
#include <cstdint>

namespace sluice {

class SourceNumbers {
 public:
  explicit SourceNumbers(RandomKey key = RandomKey(0)) : from_(key), to_(key) {}
  /// @param passed the share of the way from one key's to the other's. @pre 0 <= passed < 1
  SourceNumbers(RandomKey from, RandomKey to, double passed);

  /// Uniform in (0, 1).
  double uniform(std::uint64_t source) const {
    return to_share_ == 0 ? uniform_of(from_, source) : normal_below(mixed(source));
  }

  /// Orders sources as uniform() does, at less cost.
  double rank(std::uint64_t source) const {
    return to_share_ == 0 ? uniform_of(from_, source) : mixed(source);
  }

  /// True only where rank(source) > rank: in a passage most of those that are, at less cost.
  bool clearly_above(std::uint64_t source, double rank) const {
    return to_share_ != 0 && from_share_ * floor_of(uniform_of(from_, source)) +
                                     to_share_ * floor_of(uniform_of(to_, source)) >
                                 rank;
  }
  /// A rank that no source of at most this uniform number is above. @pre 0 < uniform
  double rank_at(double uniform) const {
    if (to_share_ == 0) return uniform;
    return uniform >= 1 ? 10 : normal_at(uniform) + 1e-5;
  }

 private:
  static constexpr std::size_t kCells = 1024;

  // A number that the normal number of this share is not below.
  double floor_of(double uniform) const {
    return floors_[static_cast<std::size_t>(uniform * static_cast<double>(kCells))];
  }
  static const double* normal_floors();

  static double uniform_of(RandomKey key, std::uint64_t source) {
    return (static_cast<double>(key.draw(source) >> 12) + 0.5) * 0x1.0p-52;
  }
  double mixed(std::uint64_t source) const {
    return from_share_ * normal_at(uniform_of(from_, source)) +
           to_share_ * normal_at(uniform_of(to_, source));
  }

  RandomKey from_;
  RandomKey to_;
  double from_share_ = 1;  // of normal numbers: their squares add up to 1
  double to_share_ = 0;
  const double* floors_ = nullptr;  // by kCells of the unit interval; where to_share_ > 0
};

}  // namespace sluice
