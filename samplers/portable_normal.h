// The normal distribution, to and from uniform numbers, in plain arithmetic: the same bits on every
// machine, as in samplers/exponential.h.
#pragma once

#include "samplers/exponential.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// e^x to a relative error of about 1e-15; 0 below -700. @pre x < 700
inline double portable_exp(double x) {
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  if (x < -700) return 0;
  const double n = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int term = 14; term > 0; --term) sum = 1 + sum * r / term;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<int>(n) + 1023) << 52);
}

/// How likely a normal number is at most x, to a relative error of about 1e-7 (erfc: Press,
/// Teukolsky, Vetterling, Flannery, "Numerical Recipes", section 6.2).
inline double normal_below(double x) {
  constexpr std::array<double, 10> kTerms = {0.17087277,
                                             -0.82215223,
                                             1.48851587,
                                             -1.13520398,
                                             0.27886807,
                                             -0.18628806,
                                             0.09678418,
                                             0.37409196,
                                             1.00002368,
                                             -1.26551223};
  const double z = std::fabs(x) * 0x1.6a09e667f3bcdp-1;  // over the square root of 2
  const double t = 1 / (1 + 0.5 * z);
  double sum = 0;
  for (const double term : kTerms) sum = sum * t + term;
  const double tail = 0.5 * t * portable_exp(-z * z + sum);
  return x < 0 ? tail : 1 - tail;
}

namespace normal_detail {

template <std::size_t N>
double polynomial(const std::array<double, N>& terms, double x) {
  double sum = 0;
  for (const double term : terms) sum = sum * x + term;
  return sum;
}

}  // namespace normal_detail

/// The normal number that so large a share of them is below: its inverse, to about 1e-15 (Wichura,
/// algorithm AS 241, Applied Statistics 1988). @pre 0 < share < 1
inline double normal_at(double share) {
  using normal_detail::polynomial;
  using Terms = std::array<double, 8>;
  constexpr Terms kA = {2.5090809287301226727e3,
                        3.3430575583588128105e4,
                        6.7265770927008700853e4,
                        4.5921953931549871457e4,
                        1.3731693765509461125e4,
                        1.9715909503065514427e3,
                        1.3314166789178437745e2,
                        3.3871328727963666080e0};
  constexpr Terms kB = {5.2264952788528545610e3,
                        2.8729085735721942674e4,
                        3.9307895800092710610e4,
                        2.1213794301586595867e4,
                        5.3941960214247511077e3,
                        6.8718700749205790830e2,
                        4.2313330701600911252e1,
                        1.0};
  constexpr Terms kC = {7.74545014278341407640e-4,
                        2.27238449892691845833e-2,
                        2.41780725177450611770e-1,
                        1.27045825245236838258e0,
                        3.64784832476320460504e0,
                        5.76949722146069140550e0,
                        4.63033784615654529590e0,
                        1.42343711074968357734e0};
  constexpr Terms kD = {1.05075007164441684324e-9,
                        5.47593808499534494600e-4,
                        1.51986665636164571966e-2,
                        1.48103976427480074590e-1,
                        6.89767334985100004550e-1,
                        1.67638483018380384940e0,
                        2.05319162663775882187e0,
                        1.0};
  constexpr Terms kE = {2.01033439929228813265e-7,
                        2.71155556874348757815e-5,
                        1.24266094738807843860e-3,
                        2.65321895265761230930e-2,
                        2.96560571828504891230e-1,
                        1.78482653991729133580e0,
                        5.46378491116411436990e0,
                        6.65790464350110377720e0};
  constexpr Terms kF = {2.04426310338993978564e-15,
                        1.42151175831644588870e-7,
                        1.84631831751005468180e-5,
                        7.86869131145613259100e-4,
                        1.48753612908506148525e-2,
                        1.36929880922735805310e-1,
                        5.99832206555887937690e-1,
                        1.0};
  const double middle = share - 0.5;
  if (std::fabs(middle) <= 0.425) {
    const double r = 0.180625 - middle * middle;
    return middle * polynomial(kA, r) / polynomial(kB, r);
  }
  const double r = std::sqrt(-portable_log(middle < 0 ? share : 1 - share));
  const double x = r <= 5 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6)
                          : polynomial(kE, r - 5) / polynomial(kF, r - 5);
  return middle < 0 ? -x : x;
}

}  // namespace sluice
