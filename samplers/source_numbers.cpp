#include "samplers/source_numbers.h"

#include <array>
#include <cmath>

namespace sluice {
namespace {

// Of an angle of at most a quarter of a circle, by its series: the same bits on every machine.
double portable_sine(double angle) {
  double sum = 1;
  for (int term = 25; term > 1; term -= 2) sum = 1 - sum * angle * angle / (term * (term - 1));
  return angle * sum;
}

}  // namespace

SourceNumbers::SourceNumbers(RandomKey from, RandomKey to, double passed) : from_(from), to_(to) {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;
  if (passed == 0) return;
  to_share_ = portable_sine(kHalfPi * passed);
  from_share_ = std::sqrt(1 - to_share_ * to_share_);
  floors_ = normal_floors();
}

const double* SourceNumbers::normal_floors() {
  static const std::array<double, kCells> floors = [] {
    std::array<double, kCells> all{};
    all[0] = -9;  // the least uniform number there is has -8.2
    for (std::size_t i = 1; i < kCells; ++i)
      all[i] = normal_at(static_cast<double>(i) / static_cast<double>(kCells)) - 1e-9;
    return all;
  }();
  return floors.data();
}

}  // namespace sluice
