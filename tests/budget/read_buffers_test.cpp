#include "budget/read_buffers.h"

#include <doctest/doctest.h>

using namespace sluice;

TEST_CASE("read buffers stay a small share of any budget, however many tables there are") {
  for (std::uint64_t budget = 8 * kMiB; budget < 64 * kGiB; budget += budget / 7) {
    for (const std::size_t tables : {0u, 1u, 2u, 3u, 7u, 40u}) {
      CAPTURE(budget);
      CAPTURE(tables);
      const std::uint64_t each = read_buffer_bytes(budget, tables);
      if (budget < kGiB) {
        CHECK(each <= budget / 32);
        CHECK(each <= 16 * kMiB);
        continue;
      }
      CHECK(each >= 16 * kMiB);
      // Together 4 % and no more than 96 MiB, but for what each has at least.
      CHECK(each * tables <= std::max(std::min(budget / 25, 96 * kMiB), tables * 16 * kMiB));
      CHECK(each <= read_buffer_bytes(budget, 1));
      CHECK(each <= read_buffer_bytes(2 * budget, tables));
    }
  }
}

TEST_CASE(
    "one table within 2.5 GiB has what a sweep was measured with, and tiny budgets a minimum") {
  CHECK(read_buffer_bytes(2560 * kMiB, 1) == 96 * kMiB);
  CHECK(read_buffer_bytes(2560 * kMiB, 4) == 24 * kMiB);
  CHECK(read_buffer_bytes(256 * kMiB, 1) == 8 * kMiB);
  CHECK(read_buffer_bytes(1 * kMiB, 1) == 256 * kKiB);
}
