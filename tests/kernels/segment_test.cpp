#include "kernels/support.h"

#include "kernels/gather_rows.h"
#include "kernels/segment_max.h"
#include "kernels/segment_sum.h"
#include "support/sanitized.h"

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;
using kernels::RowLists;

namespace {

constexpr std::int64_t kSources = test::sanitized(3000, 500), kTargets = test::sanitized(900, 150);

/// In double, by the definition.
double scaled_sum(const RowLists& lists,
                  const std::vector<float>& item_scale,
                  const std::vector<float>& list_scale,
                  const Matrix& x,
                  std::int64_t i,
                  std::int64_t c) {
  double sum = 0;
  for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
    const std::int32_t item = lists.items[p];
    sum += static_cast<double>(item_scale[static_cast<std::size_t>(item)]) * x.at(item, c);
  }
  return sum * static_cast<double>(list_scale[static_cast<std::size_t>(i)]);
}

}  // namespace

TEST_CASE("segment_sum, forward and over the transposed block, is the sum by definition") {
  const Block block = random_block(kSources, kTargets, 40, 1);
  const auto source_scale = random_floats(kSources, 4), target_scale = random_floats(kTargets, 5);
  const auto own = random_floats(kTargets, 6);

  const auto check = [&own](const RowLists& lists,
                            Matrix& input,
                            const std::vector<float>& item_scale,
                            const std::vector<float>& list_scale) {
    const Matrix out = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix sums(lists.count, input.width);
      kernels::segment_sum(executor,
                           lists,
                           {item_scale.data(), list_scale.data(), own.data(), kTargets},
                           input.rows(),
                           sums.rows());
      return sums;
    });
    for (std::int64_t i = 0; i < lists.count; ++i) {
      for (std::int64_t c = 0; c < input.width; ++c) {
        double expected = scaled_sum(lists, item_scale, list_scale, input, i, c);
        if (i < kTargets)
          expected += static_cast<double>(own[static_cast<std::size_t>(i)]) * input.at(i, c);
        check_near(out.at(i, c), expected);
      }
    }
  };
  // Widths of all tiles, and with columns left over.
  for (const std::int64_t width : {1, 15, 16, 37, 128, 500}) {
    CAPTURE(width);
    Matrix x(kSources, width, 2), grad(kTargets, width, 3);
    check(forward_lists(block), x, source_scale, target_scale);
    check(backward_lists(block), grad, target_scale, source_scale);
  }
}

TEST_CASE("segment_sum without scales adds the rows, and an empty list gives zeros") {
  const Block block = make_block(3, {{}, {2, 0, 2}});
  Matrix x(3, 2), out(2, 2, 9);
  x.values = {1, 2, 3, 4, 5, 6};
  kernels::segment_sum({}, forward_lists(block), {}, x.rows(), out.rows());
  CHECK(out.values == std::vector<float>{0, 0, 11, 14});
}

TEST_CASE("segment_weighted_sum weighs by edge and head, also through the transpose") {
  // A width below a tile, and one of a tile and more; the column looked at is of the more.
  constexpr std::int64_t kHeads = 4;
  const Block block = random_block(kSources, kTargets, 40, 6);
  Matrix own(kTargets, kHeads, 12), weights(block.num_edges(), kHeads, 9);
  for (const std::int64_t head_width : {9, 21}) {
    const std::int64_t column = head_width - 4, width = kHeads * head_width;
    Matrix wide(kSources, width, 7), narrow(kSources, head_width, 8);
    /// The sum of one head, whose columns of x begin at `from`.
    const auto sum_of = [&](const RowLists& lists, Matrix& x, std::int64_t i, std::int64_t h) {
      const std::int64_t at = (x.width == width ? h * head_width : 0) + column;
      double sum = 0;
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p)
        sum += static_cast<double>(weights.at(lists.edge(p), h)) * x.at(lists.items[p], at);
      return i < kTargets ? sum + static_cast<double>(own.at(i, h)) * x.at(i, at) : sum;
    };
    const auto weigh = [&](const RowLists& lists, Matrix& x, std::int64_t out_width) {
      return same_bits_on_all_threads([&](const Executor& executor) {
        Matrix sums(lists.count, out_width, 5);
        kernels::segment_weighted_sum(
            executor, lists, weights.rows(), own.rows(), x.rows(), sums.rows());
        return sums;
      });
    };
    for (const RowLists& lists : {forward_lists(block), backward_lists(block)}) {
      const Matrix by_head = weigh(lists, wide, width), shared = weigh(lists, narrow, width);
      const Matrix added_up = weigh(lists, wide, head_width);
      for (std::int64_t i = 0; i < lists.count; ++i) {
        double over_heads = 0;
        for (std::int64_t h = 0; h < kHeads; ++h) {
          over_heads += sum_of(lists, wide, i, h);
          check_near(by_head.at(i, h * head_width + column), sum_of(lists, wide, i, h));
          check_near(shared.at(i, h * head_width + column), sum_of(lists, narrow, i, h));
        }
        check_near(added_up.at(i, column), over_heads);
      }
    }
  }
}

TEST_CASE("segment_edge_sum adds the edges' values") {
  const Block block = random_block(kSources, kTargets, 200, 10);
  Matrix values(block.num_edges(), 3, 11);
  for (const RowLists& lists : {forward_lists(block), backward_lists(block)}) {
    const Matrix out = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix sums(lists.count, 3);
      kernels::segment_edge_sum(executor, lists, values.rows(), sums.rows());
      return sums;
    });
    for (std::int64_t i = 0; i < lists.count; ++i) {
      double sum = 0;
      for (std::int64_t p = lists.offsets[i]; p < lists.offsets[i + 1]; ++p) {
        sum += values.at(lists.edge(p), 2);
      }
      check_near(out.at(i, 2), sum);
    }
  }
}

TEST_CASE("segment_max takes the first of equal rows, and its backward follows it") {
  const Block block = make_block(3, {{}, {1, 0, 2, 0}});
  Matrix x(3, 2), out(2, 2, 12), grad(2, 2), grad_x(3, 2, 13);
  x.values = {5, -1, 2, -1, 5, -7};
  grad.values = {100, 200, 1, 2};
  std::vector<std::int32_t> winner(4);
  kernels::segment_max({}, forward_lists(block), x.rows(), out.rows(), {winner.data(), 2, 2});
  CHECK(out.values == std::vector<float>{0, 0, 5, -1});
  CHECK(winner == std::vector<std::int32_t>{-1, -1, 1, 0});
  kernels::segment_max_backward({},
                                forward_lists(block),
                                backward_lists(block),
                                {winner.data(), 2, 2},
                                grad.rows(),
                                grad_x.rows());
  CHECK(grad_x.values == std::vector<float>{1, 0, 0, 2, 0, 0});
}

TEST_CASE("segment_max takes NaN for more than any number, wherever in the list it stands") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t width : {1, 16, 35, 64}) {
    for (std::int32_t bad = 0; bad < 3; ++bad) {
      CAPTURE(width);
      CAPTURE(bad);
      const Block block = make_block(3, {{0, 1, 2}});
      Matrix x(3, width, 3);
      for (std::int64_t c = 0; c < width; ++c)
        x.values[static_cast<std::size_t>(bad * width + c)] = nan;
      std::vector<std::int32_t> winner(static_cast<std::size_t>(width));
      for (const kernels::Isa isa :
           {kernels::Isa::kBaseline, kernels::Isa::kAvx2, kernels::Isa::kAvx512}) {
        Executor executor;
        executor.isa = isa;
        Matrix out(1, width);
        kernels::segment_max(
            executor, forward_lists(block), x.rows(), out.rows(), {winner.data(), 1, width});
        for (std::int64_t c = 0; c < width; ++c) CHECK(std::isnan(out.at(0, c)));
        CHECK(winner == std::vector<std::int32_t>(winner.size(), bad));
      }
    }
  }
}

TEST_CASE("segment_max and its backward are those by definition, the same bits anywhere") {
  struct Case {
    std::int64_t degree, width;
  };
  // All tiles, and columns left over; of long lists too, whose gradient goes from targets to
  // sources where there are stripes of columns for all threads.
  for (const Case& each :
       {Case{8, 5}, {8, 16}, {8, 32}, {8, 64}, {8, 127}, {60, 5}, {60, 64}, {60, 127}}) {
    const std::int64_t width = each.width;
    CAPTURE(each.degree);
    CAPTURE(width);
    const Block block = random_block(kSources, kTargets, each.degree, 14);
    const RowLists lists = forward_lists(block), back = backward_lists(block);
    Matrix x(kSources, width, 15), grad(kTargets, width, 16);
    std::vector<std::int32_t> winner(static_cast<std::size_t>(kTargets * width));
    const kernels::Rows<std::int32_t> winners{winner.data(), kTargets, width};
    const Matrix out = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix best(kTargets, width);
      kernels::segment_max(executor, lists, x.rows(), best.rows(), winners);
      return best;
    });
    const Matrix grad_x = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix sums(kSources, width);
      kernels::segment_max_backward(executor, lists, back, winners, grad.rows(), sums.rows());
      return sums;
    });
    Matrix expected(kSources, width);
    for (std::int64_t t = 0; t < kTargets; ++t) {
      for (std::int64_t c = 0; c < width; ++c) {
        std::int64_t first = -1;
        for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
          if (first < 0 || x.at(lists.items[e], c) > x.at(lists.items[first], c)) first = e;
        }
        REQUIRE(winners.row(t)[c] == first);
        REQUIRE(out.at(t, c) == (first < 0 ? 0.0f : x.at(lists.items[first], c)));
        if (first >= 0)
          expected.values[static_cast<std::size_t>(lists.items[first] * width + c)] +=
              grad.at(t, c);
      }
    }
    for (std::size_t i = 0; i < expected.values.size(); ++i)
      REQUIRE(grad_x.values[i] == doctest::Approx(expected.values[i]).epsilon(1e-5));
  }
}

TEST_CASE("gather_rows copies rows in the order asked, repeats included") {
  Matrix x(4, 3, 16), out(3, 3);
  const std::vector<std::int64_t> index{2, 0, 2};
  kernels::gather_rows({}, x.rows(), index.data(), out.rows());
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      CHECK(out.at(i, c) == x.at(index[static_cast<std::size_t>(i)], c));
    }
  }
}
