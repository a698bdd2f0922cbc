// What the kernel tests share: matrices that own their values, and runs on 1 to 7 threads.
#pragma once

#include "core/threads.h"
#include "kernels/views.h"
#include "support/blocks.h"

#include <sluice/executor.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::testing {

struct Matrix {
  Matrix(std::int64_t rows, std::int64_t columns)
      : count(rows), width(columns), values(static_cast<std::size_t>(rows * columns)) {}
  Matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : count(rows), width(columns), values(random_floats(rows * columns, seed)) {}

  kernels::Rows<float> rows() { return {values.data(), count, width}; }
  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * width + column)];
  }
  bool operator==(const Matrix& other) const { return values == other.values; }

  std::int64_t count, width;
  std::vector<float> values;
};

inline kernels::RowLists forward_lists(const Block& block) {
  return {block.offsets.as<std::int64_t>().data(),
          block.neighbours.as<std::int32_t>().data(),
          block.num_targets};
}

inline kernels::RowLists backward_lists(const Block& block) {
  return {block.transposed_offsets.as<std::int64_t>().data(),
          block.transposed_targets.as<std::int32_t>().data(),
          block.num_sources,
          block.transposed_edges.as<std::int32_t>().data()};
}

/// `kernel` gives the same bits on the calling thread and on 2, 3 and 7 threads, and for all
/// instruction sets that this processor has; returns them.
inline Matrix same_bits_on_all_threads(
    const std::function<Matrix(const kernels::Executor&)>& kernel) {
  const Matrix expected = kernel({});
  for (const int threads : {2, 3, 7}) {
    ThreadArena arena(threads);
    CHECK(kernel({&arena}) == expected);
  }
  for (const kernels::Isa isa : {kernels::Isa::kBaseline, kernels::Isa::kAvx2}) {
    kernels::Executor older;
    older.isa = isa;
    CHECK(kernel(older) == expected);
  }
  return expected;
}

inline void check_near(float got, double expected, double tolerance = 1e-5) {
  CHECK(got == doctest::Approx(expected).epsilon(tolerance));
}

}  // namespace sluice::testing
