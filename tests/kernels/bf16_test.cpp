// Rows of bf16: every kernel that reads them gives the bits that it gives for the same rows widened
// before.
#include "kernels/support.h"

#include "core/half.h"
#include "kernels/edge_pairs.h"
#include "kernels/gather_rows.h"
#include "kernels/segment_max.h"
#include "kernels/segment_sum.h"
#include "support/sanitized.h"

using namespace sluice;
using namespace sluice::testing;
using kernels::BFloat16;
using kernels::Executor;
using kernels::FloatRows;
using kernels::Rows;

namespace {

constexpr std::int64_t kBf16Sources = test::sanitized(3000, 300),
                       kBf16Targets = test::sanitized(900, 90);

/// A matrix that bf16 holds exactly, and the same as bf16.
struct BothRows {
  BothRows(std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : floats(rows, columns, seed) {
    for (float& value : floats.values) {
      halves.push_back({narrow_bf16(static_cast<double>(value))});
      value = widen_bf16(halves.back().bits);
    }
  }

  /// `kernel` gives the same for both, on all threads and instruction sets.
  void check(const std::function<Matrix(const Executor&, FloatRows)>& kernel) {
    const Matrix expected = kernel({}, floats.rows());
    const Rows<const BFloat16> rows{halves.data(), floats.count, floats.width};
    const Matrix out =
        same_bits_on_all_threads([&](const Executor& executor) { return kernel(executor, rows); });
    CHECK(out == expected);
  }

  Matrix floats;
  std::vector<BFloat16> halves;
};

}  // namespace

TEST_CASE("rows of bf16 are summed, maximised, gathered and paired as their floats are") {
  const Block block = random_block(kBf16Sources, kBf16Targets, 40, 1);
  const auto scale = random_floats(kBf16Sources, 2), own = random_floats(kBf16Targets, 3);
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < kBf16Targets; ++i) index.push_back((i * 7919) % kBf16Sources);
  // Widths of all tiles, and with columns left over.
  for (const std::int64_t width : {1, 15, 16, 37, 64, 128, 500}) {
    CAPTURE(width);
    BothRows x(kBf16Sources, width, 4), grad(kBf16Targets, width, 5);
    const auto lists = forward_lists(block), back = backward_lists(block);
    x.check([&](const Executor& executor, FloatRows rows) {
      Matrix sums(kBf16Targets, width);
      kernels::segment_sum(
          executor, lists, {scale.data(), nullptr, own.data(), kBf16Targets}, rows, sums.rows());
      return sums;
    });
    grad.check([&](const Executor& executor, FloatRows rows) {
      Matrix sums(kBf16Sources, width);
      kernels::segment_sum(executor, back, {nullptr, scale.data()}, rows, sums.rows());
      return sums;
    });
    x.check([&](const Executor& executor, FloatRows rows) {
      Matrix best(kBf16Targets, width);
      std::vector<std::int32_t> winner(best.values.size());
      kernels::segment_max(
          executor, lists, rows, best.rows(), {winner.data(), kBf16Targets, width});
      for (std::size_t i = 0; i < winner.size(); ++i)
        best.values[i] += static_cast<float>(winner[i]);  // both in one: the kernel's whole output
      return best;
    });
    x.check([&](const Executor& executor, FloatRows rows) {
      Matrix out(kBf16Targets, width);
      kernels::gather_rows(executor, rows, index.data(), out.rows());
      return out;
    });
  }
}

TEST_CASE("rows of bf16 are weighed and multiplied by heads as their floats are") {
  constexpr std::int64_t kHeads = 3;
  const Block block = random_block(kBf16Sources, kBf16Targets, 40, 6);
  const auto lists = forward_lists(block);
  Matrix weights(block.num_edges(), kHeads, 7), own(kBf16Targets, kHeads, 8);
  for (const std::int64_t head_width : {1, 9, 16, 64}) {
    CAPTURE(head_width);
    BothRows x(kBf16Sources, kHeads * head_width, 9);
    Matrix from_list(kBf16Targets, kHeads * head_width, 10);
    x.check([&](const Executor& executor, FloatRows rows) {
      Matrix sums(kBf16Targets, kHeads * head_width);
      kernels::segment_weighted_sum(executor, lists, weights.rows(), own.rows(), rows, sums.rows());
      return sums;
    });
    x.check([&](const Executor& executor, FloatRows rows) {
      Matrix dots(block.num_edges(), kHeads);
      kernels::edge_dot(executor, lists, from_list.rows(), rows, dots.rows());
      return dots;
    });
  }
}
