#include "kernels/row_updates.h"

#include "kernels/support.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {

constexpr std::int64_t kUpdated = 4000;  // enough rows that threads share them

// Rows of `width` random values and a state of zeros, in an order of their own.
struct StateRows {
  StateRows(std::int64_t width, std::int64_t state_width) : all(kUpdated, width + state_width, 1) {
    for (std::int64_t i = 0; i < kUpdated; ++i) {
      std::fill_n(all.rows().row(i) + width, state_width, 0.0f);
      at.push_back(all.rows().row(i * 7 % kUpdated));
    }
  }
  Matrix all;
  std::vector<float*> at;
};

Matrix gradient_of(std::int64_t width, std::uint64_t step) {
  return Matrix(kUpdated, width, 100 + step);
}

using Step = std::function<void(const Executor&, float* const*, kernels::Rows<const float>)>;

// Three steps of a kernel; the same bits on all threads.
Matrix three_steps(std::int64_t width, std::int64_t state_width, const Step& step) {
  return same_bits_on_all_threads([&](const Executor& executor) {
    StateRows rows(width, state_width);
    for (std::uint64_t s = 0; s < 3; ++s) {
      Matrix gradients = gradient_of(width, s);
      step(executor, rows.at.data(), gradients.rows());
    }
    return rows.all;
  });
}

// What one element becomes, by a reference in doubles: update(value, gradients of its row, column).
void check_values(
    const Matrix& got,
    std::int64_t width,
    const std::function<double(double, const std::vector<std::vector<double>>&, std::size_t)>&
        reference) {
  const Matrix before = StateRows(width, got.width - width).all;
  for (std::int64_t i = 0; i < kUpdated; i += 371) {
    const std::int64_t row = i * 7 % kUpdated;
    std::vector<std::vector<double>> gradients;
    for (std::uint64_t s = 0; s < 3; ++s) {
      gradients.emplace_back();
      const Matrix all = gradient_of(width, s);
      for (std::int64_t c = 0; c < width; ++c) gradients.back().push_back(all.at(i, c));
    }
    for (std::int64_t c = 0; c < width; ++c)
      check_near(got.at(row, c),
                 reference(before.at(row, c), gradients, static_cast<std::size_t>(c)),
                 1e-4);
  }
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("sgd takes a step along each row's gradient") {
  for (const std::int64_t width : {1, 16, 100}) {
    const Matrix got = three_steps(
        width, 0, [](const Executor& on, auto at, auto g) { kernels::sgd_rows(on, at, g, 0.1f); });
    check_values(got, width, [](double value, const auto& gradients, std::size_t c) {
      for (const auto& gradient : gradients) value -= 0.1 * gradient[c];
      return value;
    });
  }
}

TEST_CASE("adagrad divides by the root of the sum of squares, of an element or of a row") {
  for (const std::int64_t width : {1, 16, 100}) {
    CAPTURE(width);
    const Matrix by_element = three_steps(width, width, [](const Executor& on, auto at, auto g) {
      kernels::adagrad_rows(on, at, g, {0.1f, 1e-10f});
    });
    check_values(by_element, width, [](double value, const auto& gradients, std::size_t c) {
      double sum = 0;
      for (const auto& gradient : gradients) {
        sum += gradient[c] * gradient[c];
        value -= 0.1 * gradient[c] / (std::sqrt(sum) + 1e-10);
      }
      return value;
    });
    const Matrix by_row = three_steps(width, 1, [](const Executor& on, auto at, auto g) {
      kernels::adagrad_mean_rows(on, at, g, {0.1f, 1e-10f});
    });
    check_values(by_row, width, [](double value, const auto& gradients, std::size_t c) {
      double sum = 0;
      for (const auto& gradient : gradients) {
        sum += mean_square(gradient);
        value -= 0.1 * gradient[c] / (std::sqrt(sum) + 1e-10);
      }
      return value;
    });
  }
}

TEST_CASE("adam corrects its moments by the steps that the row had") {
  for (const std::int64_t width : {1, 16, 100}) {
    CAPTURE(width);
    const Matrix got = three_steps(width, 2 * width + 1, [](const Executor& on, auto at, auto g) {
      kernels::adam_rows(on, at, g, {0.1, 0.9, 0.999, 1e-8f});
    });
    check_values(got, width, [](double value, const auto& gradients, std::size_t c) {
      double first = 0, second = 0, step = 0;
      for (const auto& gradient : gradients) {
        ++step;
        first = 0.9 * first + 0.1 * gradient[c];
        second = 0.999 * second + 0.001 * gradient[c] * gradient[c];
        value -= 0.1 * (first / (1 - std::pow(0.9, step))) /
                 (std::sqrt(second / (1 - std::pow(0.999, step))) + 1e-8);
      }
      return value;
    });
    for (std::int64_t i = 0; i < kUpdated; ++i) REQUIRE(got.at(i, 3 * width) == 3);
  }
}

TEST_CASE("a row's count of steps stays where a float no longer counts") {
  std::vector<float> row{1, 0, 0, kernels::kMostAdamSteps};
  float* at = row.data();
  float gradient = 0.5f;
  kernels::adam_rows({}, &at, {&gradient, 1, 1}, {0.1, 0.9, 0.999, 1e-8f});
  CHECK(row[3] == kernels::kMostAdamSteps);
  // The corrections are 1: 0.1 * 0.05 / sqrt(0.00025).
  check_near(row[0], 1 - 0.1 * 0.05 / std::sqrt(0.00025), 1e-4);
}
