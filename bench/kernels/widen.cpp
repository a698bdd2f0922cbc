// bench/widen: feature rows widened to f32, one thread, beside the plain loop over core/half.h's
// functions (int8: its definition) in the same run.
#include "bench/support/program.h"
#include "core/half.h"
#include "kernels/widen_rows.h"

#include <sluice/graph_schema.h>
#include <sluice/random.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

// A row as the assembler widened it before there was a kernel.
void plain_row(DType dtype, const std::byte* row, float* __restrict out, std::size_t dim) {
  if (dtype == DType::kF32) {
    std::memcpy(out, row, dim * sizeof(float));
    return;
  }
  if (dtype == DType::kI8) {
    float scale = 0;
    std::memcpy(&scale, row, sizeof scale);
    for (std::size_t c = 0; c < dim; ++c)
      out[c] = scale * static_cast<float>(static_cast<std::int8_t>(row[kInt8ScaleBytes + c]));
    return;
  }
  for (std::size_t c = 0; c < dim; ++c) {
    std::uint16_t half = 0;
    std::memcpy(&half, row + 2 * c, 2);
    out[c] = dtype == DType::kF16 ? widen_f16(half) : widen_bf16(half);
  }
}

struct Bench {
  std::uint64_t dim = 128;
  std::uint64_t rows = 64;  // few: within the caches, so that the arithmetic shows
  std::uint64_t rounds = 51;

  void run(DType dtype) const {
    const std::uint64_t row_bytes = feature_row_bytes(dtype, static_cast<std::uint32_t>(dim));
    std::vector<std::byte> table(rows * row_bytes);
    const RandomKey key(1);
    for (std::size_t i = 0; i < table.size(); ++i)  // exponents that are neither 0 nor all set
      table[i] = static_cast<std::byte>(key.below(0x3b, i) + 4);
    std::vector<const std::byte*> wanted;
    wanted.reserve(rows);
    for (std::uint64_t row = 0; row < rows; ++row) wanted.push_back(&table[row * row_bytes]);
    std::vector<float> out(rows * dim);

    // Turn by turn, so that what else the machine does meets both alike.
    std::vector<double> kernel, plain;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      kernel.push_back(seconds([&] {
        kernels::widen_rows(
            {},
            dtype,
            wanted.data(),
            {out.data(), static_cast<std::int64_t>(rows), static_cast<std::int64_t>(dim)});
      }));
      plain.push_back(seconds([&] {
        for (std::uint64_t row = 0; row < rows; ++row)
          plain_row(dtype, wanted[row], &out[row * dim], dim);
      }));
    }
    Line line{.name = std::string("widen/") + std::string(feature_dtype_name(dtype)),
              .work = static_cast<double>(rows * dim),
              .unit = "elements",
              .seconds = median(kernel)};
    line.peer_rate = static_cast<double>(rows * dim) / median(plain);
    line.peer = "plain loop";
    line.more["dim"] = dim;
    line.more["rows"] = rows;
    print(line);
  }

 private:
  // Of one pass over the rows.
  template <class Pass>
  double seconds(const Pass& pass) const {
    const std::uint64_t passes = std::max<std::uint64_t>(1, 5'000'000 / (rows * dim));
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < passes; ++i) {
      pass();
      asm volatile("" ::: "memory");  // each pass is done, not one for all
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<double>(passes);
  }
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice;
  bench::Program program("widen", "Feature rows widened to f32, on one thread.");
  bench::Bench bench;
  program.option("--dim", bench.dim, "elements a row");
  program.option("--rows", bench.rows, "rows a pass; few stay within the caches");
  program.option("--rounds", bench.rounds, "times each is measured; the median counts");
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    program.add_case("widen/" + std::string(feature_dtype_name(dtype)),
                     "rows of this dtype",
                     [&bench, dtype] { bench.run(dtype); });
  }
  return program.run(argc, argv);
}
