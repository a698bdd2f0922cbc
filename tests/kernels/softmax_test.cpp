#include "kernels/softmax_rows.h"

#include "kernels/support.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {

constexpr std::int64_t kRows = 67;
constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Bytes of which every third is 0, and the last row's all are.
std::vector<std::uint8_t> some_flags(std::int64_t width) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(kRows * width));
  for (std::size_t at = 0; at < flags.size(); ++at) flags[at] = at % 3 == 1 ? 0 : 1;
  std::fill(flags.end() - width, flags.end(), std::uint8_t{0});
  return flags;
}

kernels::Flags flags_of(const std::vector<std::uint8_t>& bytes, std::int64_t width) {
  return {bytes.empty() ? nullptr : bytes.data(), kRows, width};
}

}  // namespace

TEST_CASE("softmax_sums and softmax_shares are the softmax by definition, whatever parts it has") {
  for (const std::int64_t width : {1, 15, 16, 40, 333}) {
    for (const bool flagged : {false, true}) {
      CAPTURE(width);
      CAPTURE(flagged);
      Matrix first(kRows, width, 1), second(kRows, width, 2);
      for (Matrix* scores : {&first, &second})
        for (float& score : scores->values) score *= 200;  // overflows without the maximum
      const auto flags = flagged ? some_flags(width) : std::vector<std::uint8_t>{};
      const Matrix sums = same_bits_on_all_threads([&](const Executor& executor) {
        Matrix out(2, kRows);  // the highest of each row, and its sum
        std::fill_n(out.values.begin(), kRows, kNone);
        for (Matrix* scores : {&first, &second})
          kernels::softmax_sums(executor,
                                scores->rows(),
                                flags_of(flags, width),
                                {out.values.data(), out.values.data() + kRows});
        return out;
      });
      std::vector<float> log_sums, by;
      for (std::int64_t i = 0; i < kRows; ++i) {
        log_sums.push_back(sums.at(0, i) + std::log(sums.at(1, i)));
        by.push_back(static_cast<float>(i) - 3);
      }
      const Matrix shares = same_bits_on_all_threads([&](const Executor& executor) {
        Matrix out(kRows, width);
        kernels::softmax_shares(executor,
                                second.rows(),
                                flags_of(flags, width),
                                log_sums.data(),
                                by.data(),
                                out.rows());
        return out;
      });
      for (std::int64_t i = 0; i < kRows; ++i) {
        const auto counts = [&](std::int64_t j) {
          return flags.empty() || flags[static_cast<std::size_t>(i * width + j)] != 0;
        };
        double sum = 0;
        for (std::int64_t j = 0; j < width; ++j)
          if (counts(j))
            sum += std::exp(static_cast<double>(first.at(i, j))) +
                   std::exp(static_cast<double>(second.at(i, j)));
        if (sum == 0) {
          CHECK(sums.at(0, i) == kNone);
          CHECK(sums.at(1, i) == 0);
          continue;
        }
        check_near(static_cast<float>(log_sums[static_cast<std::size_t>(i)]), std::log(sum));
        for (std::int64_t j = 0; j < width; ++j) {
          const double share =
              counts(j) ? std::exp(static_cast<double>(second.at(i, j))) / sum : 0.0;
          // The logarithm of a sum is rounded at its size, up to some 200.
          CHECK(shares.at(i, j) ==
                doctest::Approx((static_cast<double>(i) - 3) * share).epsilon(5e-5).scale(1e-30));
        }
      }
    }
  }
}

TEST_CASE("softmax_sums goes on from a score that is there, and takes what is not finite") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Matrix scores(3, 2);
  scores.values = {kNone, kNone, std::nanf(""), 0, kInfinity, 0};
  std::vector<float> highest{2, 2, 2}, sums{1, 1, 1};
  kernels::softmax_sums({}, scores.rows(), {}, {highest.data(), sums.data()});
  CHECK(highest[0] == 2);
  CHECK(sums[0] == 1);
  CHECK(std::isnan(sums[1]));
  CHECK(std::isnan(sums[2]));
}
