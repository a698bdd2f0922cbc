#include "prep/features/int8_rows.h"

#include "prep/features/load_element.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

constexpr double kLevels = 127;
constexpr double kLargest = std::numeric_limits<float>::max();

struct Scale {
  float stored = 0;
  double per_element = 0;  // q = x * per_element, within a rounding error of [-127, 127]
};

// Half an ulp between `stored` and max / 127 is of no matter where f32 is normal. A subnormal scale
// has few bits, so it is rounded up and is itself what elements are divided by.
Scale scale_of(double largest) {
  if (largest == 0) return {};
  double step = largest / kLevels;
  auto stored = static_cast<float>(step);
  if (stored < std::numeric_limits<float>::min()) {
    if (static_cast<double>(stored) < step)
      stored = std::nextafter(stored, std::numeric_limits<float>::max());
    step = static_cast<double>(stored);
  }
  // 127 steps must not leave f32.
  if (!std::isfinite(stored * static_cast<float>(kLevels))) stored = std::nextafter(stored, 0.0f);
  return {stored, 1 / step};
}

// The nearest integer, ties to even: there f64 has no bits left for fractions.
double round_to_even(double value) {
  constexpr double kNoFractions = 0x1.8p52;
  return (value + kNoFractions) - kNoFractions;
}

// Up with the chance of the fraction. @param bits 32 random ones
double round_at_random(double value, std::uint64_t bits) {
  constexpr double kOffset = kLevels + 2;  // truncation is a floor only above zero
  const double lifted = value + static_cast<double>(bits) * 0x1.0p-32 + kOffset;
  return static_cast<double>(static_cast<int>(lifted)) - kOffset;
}

void store(std::byte* to, double q) {
  const auto clamped = static_cast<std::int8_t>(std::clamp(q, -kLevels, kLevels));
  std::memcpy(to, &clamped, 1);
}

// The largest magnitude of a row; `refused` becomes the first element without a place in int8.
template <class From>
double largest_of(const std::byte* in, std::size_t dim, std::size_t& refused) {
  double largest = 0;
  bool sound = true;
  for (std::size_t c = 0; c < dim; ++c) {
    const double size = std::abs(static_cast<double>(load_element<From>(in, c)));
    sound &= size <= kLargest;  // not so for NaN
    largest = size > largest ? size : largest;
  }
  refused = dim;
  for (std::size_t c = 0; !sound && refused == dim; ++c) {
    if (!(std::abs(static_cast<double>(load_element<From>(in, c))) <= kLargest)) refused = c;
  }
  return largest;
}

template <class From>
void store_elements(const std::byte* in,
                    std::size_t dim,
                    double per_element,
                    const std::optional<RandomKey>& draws,
                    std::byte* to) {
  const auto scaled = [&](std::size_t c) {
    return static_cast<double>(load_element<From>(in, c)) * per_element;
  };
  if (!draws) {
    for (std::size_t c = 0; c < dim; ++c) store(to + c, round_to_even(scaled(c)));
    return;
  }
  // A draw serves two columns, 32 bits each.
  for (std::size_t c = 0; c < dim; c += 2) {
    const std::uint64_t bits = draws->draw(c / 2);
    store(to + c, round_at_random(scaled(c), bits & 0xffffffffu));
    if (c + 1 < dim) store(to + c + 1, round_at_random(scaled(c + 1), bits >> 32));
  }
}

}  // namespace

std::size_t store_int8_rows(DType from,
                            std::span<const std::byte> in,
                            std::uint32_t dim,
                            std::uint64_t first_row,
                            const std::optional<RandomKey>& draws,
                            std::span<std::byte> out) {
  const std::size_t row_bytes = feature_row_bytes(DType::kI8, dim);
  const std::size_t count = in.size() / size_of(from);
  std::size_t first_refused = count;
  with_element_type(from, [&]<class From>(From /*tag*/) {
    for (std::size_t row = 0; row * dim < count; ++row) {
      const std::byte* elements = in.data() + row * dim * sizeof(From);
      std::byte* to = out.data() + row * row_bytes;
      std::memset(to, 0, row_bytes);
      std::size_t refused = dim;
      const double largest = largest_of<From>(elements, dim, refused);
      if (refused < dim) {
        first_refused = std::min(first_refused, row * dim + refused);
        continue;
      }
      const Scale scale = scale_of(largest);
      std::memcpy(to, &scale.stored, kInt8ScaleBytes);
      const auto row_draws =
          draws ? std::optional(draws->with(first_row + row)) : std::optional<RandomKey>();
      store_elements<From>(elements, dim, scale.per_element, row_draws, to + kInt8ScaleBytes);
    }
  });
  return first_refused;
}

}  // namespace sluice
