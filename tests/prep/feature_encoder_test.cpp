// What features lose by being stored: bounds of the error, values of the bits, the mean of
// stochastic rounding, and bytes that depend on nothing but values, rows and seed.
#include "prep/features/feature_encoder.h"
#include "silent_session.h"
#include "support/stored_rows.h"

#include <doctest/doctest.h>

#include <sluice/graph_schema.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kSeed = 2024;

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<std::byte> encode(const FeatureEncoding& encoding,
                              const std::vector<T>& values,
                              DType from,
                              int threads = 2) {
  SilentSession session(threads);
  FeatureEncoder encoder(encoding, session.context);
  const auto rows = encoder.encode(0, from, std::as_bytes(std::span(values)));
  REQUIRE(rows.refused == values.size());
  return copy(rows.bytes);
}

template <class T>
std::size_t refused(const FeatureEncoding& encoding, const std::vector<T>& values, DType from) {
  SilentSession session(4);
  return FeatureEncoder(encoding, session.context)
      .encode(0, from, std::as_bytes(std::span(values)))
      .refused;
}

// Normal-ish values whose magnitude changes from row to row, from 2^low to 2^high.
std::vector<double> random_values(std::size_t rows, std::size_t dim, int low, int high) {
  const RandomKey key = RandomKey(kSeed).with("values");
  std::vector<double> values(rows * dim);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / dim;
    const double exponent =
        low + (high - low) * static_cast<double>(row) / static_cast<double>(rows);
    values[i] = (2 * key.uniform(i) - 1) * std::exp2(exponent);
  }
  return values;
}

// All values of a 16-bit float that are finite and not negative, by their bits.
std::map<double, std::uint32_t> finite_values(int exponent_bits, int mantissa_bits) {
  std::map<double, std::uint32_t> values;
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    const double value = float_value(bits, exponent_bits, mantissa_bits);
    if (std::isfinite(value)) values.emplace(value, bits);
  }
  return values;
}

// The bits that round-to-nearest, ties to even, must give: by looking both neighbours up.
std::uint32_t nearest_bits(const std::map<double, std::uint32_t>& values, double value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  const double size = std::abs(value);
  const auto above = values.lower_bound(size);
  REQUIRE(above != values.end());
  if (above->first == size || above == values.begin()) return sign | above->second;
  const auto below = std::prev(above);
  const double up = above->first - size, down = size - below->first;
  if (up == down) return sign | (above->second % 2 == 0 ? above->second : below->second);
  return sign | (up < down ? above->second : below->second);
}

}  // namespace

TEST_CASE("encoder: f16 and bf16 are the nearest there is, ties to even") {
  MESSAGE("seed " << kSeed);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    CAPTURE(to_string(dtype));
    const bool is_f16 = dtype == DType::kF16;
    const auto known = is_f16 ? finite_values(5, 10) : finite_values(8, 7);
    std::vector<double> values = random_values(200, 50, is_f16 ? -27 : -140, is_f16 ? 15 : 126);
    const RandomKey key = RandomKey(kSeed).with("ties");
    const auto largest = static_cast<std::uint64_t>(known.size() - 1);
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const auto at = std::next(known.begin(), static_cast<std::int64_t>(key.below(largest, i)));
      const double tie = (at->first + std::next(at)->first) / 2;
      for (const double value : {tie, tie * (1 + 0x1p-50), tie * (1 - 0x1p-50), at->first})
        values.push_back(i % 2 == 0 ? value : -value);
    }
    const auto bytes = encode({dtype, 1}, values, DType::kF64);
    REQUIRE(bytes.size() == 2 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(values[i]);
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      REQUIRE(bits == nearest_bits(known, values[i]));
    }
  }
}

TEST_CASE("encoder: what comes back is within the bounds, from f32, f64 and integers") {
  MESSAGE("seed " << kSeed);
  constexpr std::size_t kRows = 300;
  for (const std::size_t dim : {1u, 3u, 64u, 101u}) {
    CAPTURE(dim);
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
      CAPTURE(to_string(dtype));
      const bool is_f16 = dtype == DType::kF16;
      const auto wide = random_values(kRows, dim, is_f16 ? -26 : -148, is_f16 ? 15 : 127);
      const std::vector<float> narrow(wide.begin(), wide.end());
      std::vector<std::int32_t> integers(wide.size());
      for (std::size_t i = 0; i < integers.size(); ++i)
        integers[i] = static_cast<std::int32_t>(RandomKey(kSeed).below(60'001, i)) - 30'000;
      for (const bool draws : {false, true}) {
        if (draws && dtype != DType::kI8) continue;
        FeatureEncoding encoding{dtype, static_cast<std::uint32_t>(dim)};
        if (draws) encoding.draws = RandomKey(kSeed);
        const auto check = [&](const std::vector<std::byte>& bytes, const auto& given) {
          const std::size_t row_bytes = stored_row_bytes(dtype, dim);
          REQUIRE(bytes.size() == kRows * row_bytes);
          REQUIRE(row_bytes == feature_row_bytes(dtype, encoding.dim));
          for (std::size_t row = 0; row < kRows; ++row) {
            const std::byte* stored = bytes.data() + row * row_bytes;
            float scale = 0;
            if (dtype == DType::kI8) std::memcpy(&scale, stored, 4);
            // To nearest: half a step. A subnormal scale may be rounded up.
            const double step = static_cast<double>(scale) * (draws ? 1 : 0.5);
            const auto values = stored_values(dtype, stored, dim);
            for (std::size_t c = 0; c < dim; ++c) {
              const auto x = static_cast<double>(given[row * dim + c]);
              CAPTURE(x);
              REQUIRE(std::abs(values[c] - x) <= largest_error(dtype, x, step));
              REQUIRE(std::isfinite(static_cast<float>(values[c])));
            }
          }
        };
        check(encode(encoding, wide, DType::kF64), wide);
        check(encode(encoding, narrow, DType::kF32), narrow);
        check(encode(encoding, integers, DType::kI32), integers);
      }
    }
  }
}

TEST_CASE("encoder: int8's scale is the largest magnitude / 127, and its row ends in zeros") {
  const std::vector<float> values{0,      0,        0,       0,     0,        //
                                  1,      0,        0,       -1,    1,        //
                                  -254,   127,      2,       1,     -3,       //
                                  3e38f,  -3.4e38f, 0,       1e30f, 3.4e38f,  //
                                  1e-45f, 3e-44f,   -3e-44f, 0,     2e-44f};
  const auto bytes = encode({DType::kI8, 5}, values, DType::kF32);
  REQUIRE(bytes.size() == 5 * 12);
  const auto row = [&](std::size_t i) {
    std::vector<int> q;
    for (std::size_t c = 0; c < 5; ++c)
      q.push_back(static_cast<std::int8_t>(bytes[12 * i + 4 + c]));
    for (std::size_t c = 9; c < 12; ++c) CHECK(bytes[12 * i + c] == std::byte{0});
    return q;
  };
  const auto scale = [&](std::size_t i) {
    float value = -1;
    std::memcpy(&value, bytes.data() + 12 * i, 4);
    return value;
  };
  CHECK(scale(0) == 0);
  CHECK(row(0) == std::vector<int>{0, 0, 0, 0, 0});
  CHECK(scale(1) == 1.0f / 127.0f);
  CHECK(row(1) == std::vector<int>{127, 0, 0, -127, 127});
  CHECK(scale(2) == 2);
  CHECK(row(2) == std::vector<int>{-127, 64, 1, 0, -2});  // 63.5, 0.5, -1.5: ties to even
  CHECK(scale(3) == doctest::Approx(3.4e38 / 127));
  CHECK(row(3) == std::vector<int>{112, -127, 0, 0, 127});
  CHECK(scale(4) == 1e-45f);  // the smallest there is
  CHECK(row(4) == std::vector<int>{1, 21, -21, 0, 14});
}

TEST_CASE("encoder: stochastic rounding is right on average, nearest is not") {
  MESSAGE("seed " << kSeed);
  constexpr std::size_t kRows = 20'000, kDim = 33;
  std::vector<double> row(kDim);
  for (std::size_t c = 0; c < kDim; ++c) row[c] = 2 * RandomKey(kSeed).with("row").uniform(c) - 1;
  row[7] = 1;  // the scale is 1 / 127
  std::vector<double> values;
  for (std::size_t i = 0; i < kRows; ++i) values.insert(values.end(), row.begin(), row.end());
  const auto mean_errors = [&](const FeatureEncoding& encoding) {  // by column, in steps
    const auto bytes = encode(encoding, values, DType::kF64);
    const std::size_t row_bytes = stored_row_bytes(DType::kI8, kDim);
    std::vector<double> errors(kDim);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto stored = stored_values(DType::kI8, bytes.data() + r * row_bytes, kDim);
      for (std::size_t c = 0; c < kDim; ++c) errors[c] += (stored[c] - row[c]) * 127 / kRows;
    }
    return errors;
  };
  const auto random = mean_errors({DType::kI8, kDim, NotFiniteValues::kRefuse, RandomKey(kSeed)});
  const auto nearest = mean_errors({DType::kI8, kDim});
  double sum = 0, variance = 0, worst_of_nearest = 0;
  for (std::size_t c = 0; c < kDim; ++c) {
    CAPTURE(c);
    const double fraction = row[c] * 127 - std::floor(row[c] * 127);
    const double sigma = std::sqrt(fraction * (1 - fraction) / kRows);
    CHECK(std::abs(random[c]) < 5 * sigma + 1e-5);  // 1e-5: the rounding of the scale
    sum += random[c];
    variance += sigma * sigma;
    worst_of_nearest = std::max(worst_of_nearest, std::abs(nearest[c]));
  }
  CHECK(std::abs(sum) < 5 * std::sqrt(variance) + kDim * 1e-5);
  CHECK(worst_of_nearest > 0.3);
}

TEST_CASE("encoder: the draws of rows and of neighbouring columns are independent") {
  MESSAGE("seed " << kSeed);
  constexpr std::size_t kRows = 40'000;
  std::vector<float> values;
  for (std::size_t r = 0; r < kRows; ++r) values.insert(values.end(), {127, 0.5f, 0.5f, 0.5f});
  const auto bytes =
      encode({DType::kI8, 4, NotFiniteValues::kRefuse, RandomKey(kSeed)}, values, DType::kF32);
  const auto up = [&](std::size_t r, std::size_t c) {
    return static_cast<int>(bytes[8 * r + 4 + c]);
  };
  double same_draw = 0, next_draw = 0, next_row = 0;
  for (std::size_t r = 0; r + 1 < kRows; ++r) {
    same_draw += up(r, 2) & up(r, 3);
    next_draw += up(r, 1) & up(r, 2);
    next_row += up(r, 2) & up(r + 1, 2);
  }
  const double bound = 5 * std::sqrt(0.25 * 0.75 / kRows);
  CHECK(std::abs(same_draw / kRows - 0.25) < bound);
  CHECK(std::abs(next_draw / kRows - 0.25) < bound);
  CHECK(std::abs(next_row / kRows - 0.25) < bound);
}

TEST_CASE("encoder: the same bytes for any threads and any cut into calls; another seed, others") {
  MESSAGE("seed " << kSeed);
  constexpr std::size_t kRows = 3000, kDim = 101;
  const auto values = random_values(kRows, kDim, -10, 10);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    CAPTURE(to_string(dtype));
    FeatureEncoding encoding{dtype, kDim, NotFiniteValues::kRefuse, RandomKey(kSeed)};
    const auto whole = encode(encoding, values, DType::kF64, 1);
    for (const int threads : {2, 7})
      CHECK((encode(encoding, values, DType::kF64, threads) == whole));
    for (const std::size_t most : {1u, 10u, 997u}) {
      SilentSession session(3);
      FeatureEncoder encoder(encoding, session.context);
      std::vector<std::byte> pieces;
      for (std::size_t first = 0; first < kRows;) {
        const std::size_t rows = std::min(1 + RandomKey(kSeed).below(most, first), kRows - first);
        const auto part = std::span(values).subspan(first * kDim, rows * kDim);
        const auto bytes = encoder.encode(first, DType::kF64, std::as_bytes(part)).bytes;
        pieces.insert(pieces.end(), bytes.begin(), bytes.end());
        first += rows;
      }
      CHECK((pieces == whole));
    }
    encoding.draws = RandomKey(kSeed + 1);
    CHECK((encode(encoding, values, DType::kF64) == whole) == (dtype != DType::kI8));
  }
}

TEST_CASE("encoder: the first element that may not be stored is found, whatever the threads") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  struct Row {
    double value;
    DType dtype;
    NotFiniteValues not_finite;
    bool is_refused;
  };
  for (const Row& row :
       {Row{kNaN, DType::kF32, NotFiniteValues::kRefuse, true},
        Row{kNaN, DType::kF32, NotFiniteValues::kKeep, false},
        Row{-kInfinity, DType::kF16, NotFiniteValues::kRefuse, true},
        Row{-kInfinity, DType::kF16, NotFiniteValues::kKeep, false},
        Row{65'519, DType::kF16, NotFiniteValues::kRefuse, false},  // becomes 65504
        Row{65'520, DType::kF16, NotFiniteValues::kRefuse, true},
        Row{-65'520, DType::kF16, NotFiniteValues::kKeep, true},
        Row{1e39, DType::kF32, NotFiniteValues::kKeep, true},
        Row{3.4e38, DType::kBF16, NotFiniteValues::kKeep, true},
        Row{3.3e38, DType::kBF16, NotFiniteValues::kRefuse, false},
        Row{kNaN, DType::kBF16, NotFiniteValues::kKeep, false},
        Row{kNaN, DType::kI8, NotFiniteValues::kRefuse, true},
        Row{kNaN, DType::kI8, NotFiniteValues::kKeep, true},
        Row{kInfinity, DType::kI8, NotFiniteValues::kKeep, true},
        Row{-1e39, DType::kI8, NotFiniteValues::kRefuse, true},
        Row{3.4e38, DType::kI8, NotFiniteValues::kRefuse, false}}) {
    CAPTURE(row.value);
    CAPTURE(to_string(row.dtype));
    const FeatureEncoding encoding{row.dtype, 100, row.not_finite};
    std::vector<double> values(300'000, 1.0);
    for (const std::size_t at : {299'999u, 200'001u, 123'456u, 0u}) {
      values[at] = row.value;
      REQUIRE(refused(encoding, values, DType::kF64) == (row.is_refused ? at : values.size()));
    }
  }
}
