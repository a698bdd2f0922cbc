// spread_rows against what FORMAT.md says of sparse rows, read without any of our code.
#include "kernels/support.h"

#include "kernels/spread_rows.h"
#include "support/sparse_rows.h"
#include "support/stored_rows.h"

#include <sluice/graph_schema.h>

#include <bit>
#include <cstring>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

TEST_CASE("sparse rows of every dtype and width come out dense, at any address, by any threads") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::uint32_t dim : {1u, 5u, 300u, 65'536u, 65'537u}) {
      const std::uint32_t entries = std::min(dim, 37u);
      for (const std::size_t shift : {0u, 1u, 2u}) {
        CAPTURE(to_string(dtype));
        CAPTURE(dim);
        CAPTURE(shift);
        const std::size_t count = dim > 1000 ? 20 : 400;
        const test::SparseTable table(dtype, dim, entries, count, shift, RandomKey(dim));
        std::vector<float> alone(count * dim, -77.0f), together(alone);
        const auto rows = static_cast<std::int64_t>(count);
        kernels::spread_rows(
            {}, dtype, entries, table.rows.data(), {alone.data(), rows, std::int64_t{dim}});
        ThreadArena arena(3);
        Executor executor;
        executor.threads = &arena;
        kernels::spread_rows(executor,
                             dtype,
                             entries,
                             table.rows.data(),
                             {together.data(), rows, std::int64_t{dim}});
        CHECK(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) == 0);
        for (std::size_t i = 0; i < count; ++i) {
          const auto expected = test::sparse_values(dtype, table.rows[i], dim);
          for (std::uint32_t c = 0; c < dim; ++c)
            REQUIRE(std::bit_cast<std::uint32_t>(alone[i * dim + c]) ==
                    std::bit_cast<std::uint32_t>(static_cast<float>(expected[c])));
        }
      }
    }
  }
}

TEST_CASE("a row of no entries is zeros, and what a damaged one says is not followed") {
  // Three columns, room for two entries of f32: 4 + 4 + 8 bytes.
  REQUIRE(sparse_row_bytes(DType::kF32, 3, 2) == 16);
  const auto spread = [](std::uint32_t count, std::uint16_t first, std::uint16_t second) {
    std::vector<std::byte> row(16);
    const float values[] = {2.5f, -1.5f};
    std::memcpy(row.data(), &count, 4);
    std::memcpy(row.data() + 4, &first, 2);
    std::memcpy(row.data() + 6, &second, 2);
    std::memcpy(row.data() + 8, values, 8);
    const std::byte* const at = row.data();
    std::vector<float> out(4, -77.0f);  // one behind the row
    kernels::spread_rows({}, DType::kF32, 2, &at, {out.data(), 1, 3});
    return out;
  };
  CHECK(spread(0, 0, 1) == std::vector<float>{0, 0, 0, -77});
  CHECK(spread(2, 0, 2) == std::vector<float>{2.5f, 0, -1.5f, -77});
  CHECK(spread(2, 1, 3) == std::vector<float>{0, 2.5f, 0, -77});        // there is no column 3
  CHECK(spread(900, 0, 1) == std::vector<float>{2.5f, -1.5f, 0, -77});  // nor room for 900
}
