// Kernels over rows, of features and of what is learned, beside the CPU's: the same bits.
#include "device/parity_bench.h"
#include "support/sparse_rows.h"
#include "support/stored_rows.h"

#include <cmath>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::testing;
using kernels::Executor;
using kernels::RowLists;
using kernels::Rows;

TEST_CASE("kernel parity: dropout draws the same mask; rows are gathered by index") {
  for (const std::int64_t count : {1, 2, 255, 100'001}) {
    for (const double rate : {0.0, 0.3, 0.9}) {
      CAPTURE(count);
      CAPTURE(rate);
      compare(
          [&](Bench& bench) {
            const Rows<float> out = bench.room<float>(1, count);
            bench.table().dropout(bench.executor(),
                                  RandomKey(9).with("test"),
                                  rate,
                                  bench.matrix(1, count, 1).data,
                                  out.data,
                                  count);
            return Outputs{bench.get(out)};
          },
          same_bits<float>);
    }
  }
  compare(
      [&](Bench& bench) {
        std::vector<std::int64_t> index;
        for (std::uint64_t i = 0; i < 999; ++i)
          index.push_back(static_cast<std::int64_t>(RandomKey(3).below(500, i)));
        const Rows<float> out = bench.room<float>(999, 37);
        bench.table().gather_rows(
            bench.executor(), bench.matrix(500, 37, 1), bench.put(index), out);
        return Outputs{bench.get(out)};
      },
      same_bits<float>);
}

TEST_CASE("kernel parity: sparse optimizers, step after step over the same rows") {
  constexpr std::int64_t kRows = 300;
  for (const std::int64_t width : kWidths) {
    CAPTURE(width);
    const std::int64_t stride = 3 * width + 1;  // room for the state of each
    compare(
        [&](Bench& bench) {
          const auto& table = bench.table();
          const auto steps = [&](const auto& step) {
            std::vector<float> values = random_floats(kRows * stride, 1);
            for (std::int64_t i = 0; i < kRows; ++i)
              std::fill_n(values.begin() + i * stride + width, stride - width, 0.0f);
            const Rows<float> rows{bench.put(values), kRows, stride};
            std::vector<float*> begins;
            for (std::int64_t i = kRows; i > 0; --i) begins.push_back(rows.row(i - 1));
            float* const* at = bench.put(begins);
            for (std::uint64_t s = 0; s < 5; ++s) step(at, bench.matrix(kRows, width, 10 + s));
            return bench.get(rows);
          };
          const auto& on = bench.executor();
          return Outputs{steps([&](auto at, auto g) { table.sgd_rows(on, at, g, 0.1f); }),
                         steps([&](auto at, auto g) {
                           table.adagrad_rows(on, at, g, {0.1f, 1e-10f});
                         }),
                         steps([&](auto at, auto g) {
                           table.adagrad_mean_rows(on, at, g, {0.1f, 1e-10f});
                         }),
                         steps([&](auto at, auto g) {
                           table.adam_rows(on, at, g, {0.1, 0.9, 0.999, 1e-8f});
                         })};
        },
        same_bits<float>);
  }
}

TEST_CASE("kernel parity: sparse rows are spread, from pinned host memory, at any address") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::uint32_t dim : {1u, 31u, 300u, 65'537u}) {
      for (const std::size_t shift : {0u, 1u, 2u, 4u}) {
        CAPTURE(to_string(dtype));
        CAPTURE(dim);
        CAPTURE(shift);
        const std::uint32_t entries = std::min(dim, 80u);
        const std::size_t count = dim > 1000 ? 5 : 500;
        const SparseTable table(dtype, dim, entries, count, shift, RandomKey(7).with(dim));
        for (const auto& [name, device] : tested_devices()) {
          CAPTURE(name);
          AlignedBuffer pinned =
              AlignedBuffer::make(table.bytes.size(), nullptr, "rows", device).or_throw();
          REQUIRE(pinned.pinned());
          std::memcpy(pinned.data(), table.bytes.data(), table.bytes.size());
          std::vector<const std::byte*> wanted;
          for (const std::byte* row : table.rows)
            wanted.push_back(pinned.data() + (row - table.bytes.data()));
          const auto rows = static_cast<std::int64_t>(count);
          std::vector<float> expected(count * dim);
          kernels::spread_rows(
              {}, dtype, entries, wanted.data(), {expected.data(), rows, std::int64_t{dim}});
          Bench bench(device);
          const Rows<float> out = bench.room<float>(rows, std::int64_t{dim});
          bench.table().spread_rows(bench.executor(), dtype, entries, bench.put(wanted), out);
          CHECK(same_bits(bench.get(out), expected));
        }
      }
    }
  }
}

TEST_CASE("kernel parity: stored rows of every dtype are widened, from pinned host memory") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    // 65,536 columns: every 16-bit pattern once.
    for (const std::size_t dim : {1u, 4u, 7u, 32u, 100u, 128u, 65'536u}) {
      for (const std::size_t shift : {0u, 1u, 4u}) {
        CAPTURE(to_string(dtype));
        CAPTURE(dim);
        CAPTURE(shift);
        const std::size_t count = dim > 1000 ? 2 : 500;
        const std::size_t row_bytes = stored_row_bytes(dtype, dim);
        for (const auto& [name, device] : tested_devices()) {
          CAPTURE(name);
          AlignedBuffer rows =
              AlignedBuffer::make(shift + count * row_bytes, nullptr, "rows", device).or_throw();
          REQUIRE(rows.pinned());
          const RandomKey key = RandomKey(5).with(dim);
          for (std::size_t i = 0; i < rows.size(); ++i)
            rows.data()[i] = static_cast<std::byte>(key.draw(i));
          std::vector<const std::byte*> wanted;
          for (std::size_t i = 0; i < count; ++i) {
            std::byte* row = rows.data() + shift + key.with("order").below(count, i) * row_bytes;
            const auto scale = static_cast<float>(key.uniform(i));
            if (dtype == DType::kI8) std::memcpy(row, &scale, sizeof scale);
            for (std::size_t c = 0; dim > 1000 && dtype != DType::kF32 && c < dim; ++c) {
              const auto bits = static_cast<std::uint16_t>(c);
              if (dtype != DType::kI8) std::memcpy(row + 2 * c, &bits, sizeof bits);
            }
            wanted.push_back(row);
          }
          const auto width = static_cast<std::int64_t>(dim);
          std::vector<float> expected(count * dim);
          kernels::widen_rows(
              {}, dtype, wanted.data(), {expected.data(), static_cast<std::int64_t>(count), width});
          Bench bench(device);
          const Rows<float> out = bench.room<float>(static_cast<std::int64_t>(count), width);
          bench.table().widen_rows(bench.executor(), dtype, bench.put(wanted), out);
          CHECK(same_bits(bench.get(out), expected));
        }
      }
    }
  }
}
