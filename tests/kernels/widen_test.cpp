// widen_rows against what the bits mean by IEEE 754 and FORMAT.md: every 16-bit float, every int8.
#include "kernels/support.h"

#include "core/half.h"
#include "kernels/widen_rows.h"
#include "support/stored_rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8};

std::vector<float> widened(DType dtype, const std::byte* row, std::size_t dim) {
  std::vector<float> out(dim, -77.0f);
  kernels::widen_rows({}, dtype, &row, {out.data(), 1, static_cast<std::int64_t>(dim)});
  return out;
}

// Bit for bit, so that -0 is not 0; a NaN keeps sign and payload, one of f16 becomes quiet. So do
// the plain functions, which the kernel uses where the processor has no conversion of its own.
void check_16_bits(DType dtype) {
  std::vector<std::uint16_t> all(65'536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto out = widened(dtype, reinterpret_cast<const std::byte*>(all.data()), all.size());
  const bool is_f16 = dtype == DType::kF16;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    const double expected =
        is_f16 ? test::float_value(all[i], 5, 10) : test::float_value(all[i], 8, 7);
    const auto bits = std::bit_cast<std::uint32_t>(out[i]);
    const float plain = is_f16 ? widen_f16(all[i]) : widen_bf16(all[i]);
    REQUIRE(std::bit_cast<std::uint32_t>(plain) == bits);
    if (std::isnan(expected)) {
      const std::uint32_t mantissa = is_f16 ? (all[i] & 0x3ffu) << 13 : (all[i] & 0x7fu) << 16;
      const std::uint32_t quiet = is_f16 ? 0x400000u : 0u;
      REQUIRE(bits == ((all[i] & 0x8000u) << 16 | 0x7f800000u | mantissa | quiet));
    } else {
      REQUIRE(bits == std::bit_cast<std::uint32_t>(static_cast<float>(expected)));
    }
  }
}

// Rows whose every byte is random, but for scales that are numbers.
std::vector<std::byte> random_rows(DType dtype, std::size_t rows, std::size_t dim, RandomKey key) {
  const std::size_t row_bytes = test::stored_row_bytes(dtype, dim);
  std::vector<std::byte> bytes(rows * row_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(key.draw(i));
  for (std::size_t row = 0; row < rows && dtype == DType::kI8; ++row) {
    const auto scale = static_cast<float>(key.with("scale").uniform(row));
    std::memcpy(bytes.data() + row * row_bytes, &scale, sizeof scale);
  }
  return bytes;
}

}  // namespace

TEST_CASE("widen: every f16 and every bf16 is the number its bits mean") {
  check_16_bits(DType::kF16);
  check_16_bits(DType::kBF16);
}

TEST_CASE("widen: every int8 at any scale is scale * q, rounded once") {
  for (const float scale : {0.0f,
                            1.0f,
                            1.0f / 127.0f,
                            3.14159274f,
                            1e-45f,
                            1.17549435e-38f,
                            2.67e36f,
                            std::numeric_limits<float>::infinity()}) {
    CAPTURE(scale);
    std::vector<std::byte> row(4 + 256);
    std::memcpy(row.data(), &scale, sizeof scale);
    for (std::size_t q = 0; q < 256; ++q) row[4 + q] = static_cast<std::byte>(q);
    const auto out = widened(DType::kI8, row.data(), 256);
    for (std::size_t i = 0; i < 256; ++i) {
      const int q = i < 128 ? static_cast<int>(i) : static_cast<int>(i) - 256;
      // f64 holds the product exactly
      const auto expected = static_cast<float>(static_cast<double>(scale) * q);
      if (std::isnan(expected)) {
        CHECK(std::isnan(out[i]));
      } else {
        REQUIRE(std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(expected));
      }
    }
  }
}

TEST_CASE("widen: rows of any width, at any address, in any order, on any number of threads") {
  constexpr std::uint64_t kSeed = 11;
  MESSAGE("seed " << kSeed);
  for (const DType dtype : kDTypes) {
    CAPTURE(to_string(dtype));
    for (const std::size_t dim : {1u, 2u, 7u, 8u, 9u, 15u, 31u, 33u, 100u, 129u}) {
      CAPTURE(dim);
      constexpr std::size_t kRows = 1500, kWanted = 2000;
      const std::size_t row_bytes = test::stored_row_bytes(dtype, dim);
      const RandomKey key = RandomKey(kSeed).with(dim).with(to_string(dtype));
      // One byte off, so that nothing is aligned.
      std::vector<std::byte> table{std::byte{0}};
      const auto rows = random_rows(dtype, kRows, dim, key);
      table.insert(table.end(), rows.begin(), rows.end());
      std::vector<const std::byte*> wanted;
      for (std::size_t i = 0; i < kWanted; ++i)
        wanted.push_back(table.data() + 1 + key.with("rows").below(kRows, i) * row_bytes);

      const auto run = [&](const Executor& executor) {
        std::vector<float> out(kWanted * dim + 1, -77.0f);  // the last is not to be touched
        kernels::widen_rows(
            executor, dtype, wanted.data(), {out.data(), kWanted, static_cast<std::int64_t>(dim)});
        return out;
      };
      const auto out = run({});
      CHECK(out.back() == -77.0f);
      for (std::size_t i = 0; i < kWanted; ++i) {
        const auto expected = test::stored_values(dtype, wanted[i], dim);
        for (std::size_t c = 0; c < dim; ++c) {
          const float value = out[i * dim + c];
          const bool same = std::isnan(expected[c]) ? std::isnan(value)
                                                    : value == static_cast<float>(expected[c]);
          REQUIRE(same);
        }
      }
      for (const int threads : {2, 3, 7}) {
        ThreadArena arena(threads);
        const auto other = run({&arena});
        REQUIRE(std::memcmp(other.data(), out.data(), out.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("widen: what is no feature dtype is said to be none") {
  for (const DType dtype : kDTypes) CHECK(kernels::can_widen(dtype));
  for (const DType dtype : {DType::kF64, DType::kU8, DType::kI32, DType::kI64, DType::kU64})
    CHECK_FALSE(kernels::can_widen(dtype));
}
