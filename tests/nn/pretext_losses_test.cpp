// Losses of learning without labels against sums over rows and pairs, and modules that follow.
#include "nn/pretext_losses.h"
#include "nn/moving_average.h"
#include "nn/support.h"

#include <sluice/nn/linear.h>

#include <cmath>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

double cell(const Tensor& matrix, std::int64_t row, std::int64_t column) {
  return matrix[row][column].item<double>();
}

double dot(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  double sum = 0;
  for (std::int64_t c = 0; c < a.size(1); ++c) sum += cell(a, i, c) * cell(b, j, c);
  return sum;
}

double cosine(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  return dot(a, i, b, j) / std::sqrt(dot(a, i, a, i) * dot(b, j, b, j));
}

constexpr double kClose = 1e-5;

}  // namespace

TEST_CASE("the scaled cosine error is a mean of powers, and 0 where rows point alike") {
  const Tensor made = random_tensor({5, 4}, 1), truth = random_tensor({5, 4}, 2);
  for (const double gamma : {1.0, 2.0, 2.5, 3.0}) {
    CAPTURE(gamma);
    double sum = 0;
    for (std::int64_t i = 0; i < 5; ++i) sum += std::pow(1 - cosine(made, i, truth, i), gamma);
    CHECK(nn::scaled_cosine_error(made, truth, gamma).item<double>() ==
          doctest::Approx(sum / 5).epsilon(kClose));
    CHECK(nn::scaled_cosine_error(truth * 3, truth, gamma).item<double>() < 1e-6);
  }
  const Tensor none = torch::zeros({0, 4}).requires_grad_();
  const Tensor loss = nn::scaled_cosine_error(none, none.detach(), 2);
  loss.backward();
  CHECK(loss.item<double>() == 0);
}

TEST_CASE("a row of zeros has a cosine of 0 and no gradient") {
  const Tensor made = torch::zeros({2, 3}).requires_grad_();
  const Tensor loss = nn::scaled_cosine_error(made, torch::ones({2, 3}), 2);
  CHECK(loss.item<double>() == doctest::Approx(1));
  loss.backward();
  CHECK(made.grad().eq(0).all().item<bool>());
}

TEST_CASE("InfoNCE compares a node's two views with all others, in rows and columns") {
  const Tensor first = random_tensor({6, 3}, 3), second = random_tensor({6, 3}, 4);
  const double temperature = 0.4;
  double sum = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    double of_row = 0, of_column = 0;
    for (std::int64_t j = 0; j < 6; ++j) {
      of_row += std::exp(cosine(first, i, second, j) / temperature);
      of_column += std::exp(cosine(first, j, second, i) / temperature);
    }
    const double own = std::exp(cosine(first, i, second, i) / temperature);
    sum -= std::log(own / of_row) + std::log(own / of_column);
  }
  CHECK(nn::info_nce(first, second, temperature).item<double>() ==
        doctest::Approx(sum / 12).epsilon(kClose));
}

TEST_CASE("the adjacency loss is of all pairs of two, links and others alike in weight") {
  const Tensor rows = random_tensor({5, 4}, 5);
  Tensor linked = torch::zeros({5, 5}, torch::kBool);
  for (const auto& [i, j] : std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {3, 4}})
    linked[i][j] = linked[j][i] = true;
  linked[2][2] = true;  // passed over
  double cross[2] = {0, 0}, square[2] = {0, 0}, share[2] = {0, 0}, count[2] = {0, 0};
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      if (i == j) continue;
      const int is = linked[i][j].item<bool>() ? 1 : 0;
      const double p = 1 / (1 + std::exp(-dot(rows, i, rows, j)));
      cross[is] -= std::log(is == 1 ? p : 1 - p);
      square[is] += is == 1 ? (1 - p) * (1 - p) : p * p;
      share[is] += p;
      count[is] += 1;
    }
  }
  REQUIRE(count[1] == 6);
  const auto halves = [&](const double* sums) {
    return (sums[0] / count[0] + sums[1] / count[1]) / 2;
  };
  const double distance =
      std::log(share[0] / count[0] + 1e-6) - std::log(share[1] / count[1] + 1e-6);
  const auto loss = [&](double by_cross, double by_square, double by_distance) {
    return nn::adjacency_loss(rows, linked, {by_cross, by_square, by_distance}).item<double>();
  };
  CHECK(loss(1, 0, 0) == doctest::Approx(halves(cross)).epsilon(kClose));
  CHECK(loss(0, 1, 0) == doctest::Approx(halves(square)).epsilon(kClose));
  CHECK(loss(0, 0, 1) == doctest::Approx(distance).epsilon(1e-4));
  CHECK(loss(1, 2, 3) ==
        doctest::Approx(halves(cross) + 2 * halves(square) + 3 * distance).epsilon(1e-4));
  CHECK(nn::adjacency_loss(rows, torch::zeros_like(linked), {}).item<double>() == 0);
}

TEST_CASE("the variance loss is of columns as they are, and pushes equal rows apart") {
  const Tensor rows = random_tensor({7, 3}, 6) * torch::tensor({0.5f, 1.f, 9.f});
  double sum = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    double mean = 0, square = 0;
    for (std::int64_t i = 0; i < 7; ++i) mean += cell(rows, i, c) / 7;
    for (std::int64_t i = 0; i < 7; ++i) square += std::pow(cell(rows, i, c) - mean, 2) / 7;
    sum += std::max(0.0, 1 - std::sqrt(square + 1e-4)) / 3;
  }
  CHECK(nn::variance_loss(rows).item<double>() == doctest::Approx(sum).epsilon(kClose));
  CHECK(nn::variance_loss(torch::ones({4, 2})).item<double>() == doctest::Approx(0.99));
  CHECK(nn::variance_loss(torch::ones({1, 2})).item<double>() == 0);
}

TEST_CASE("scores that tell real from fake lower the discrimination loss") {
  const Tensor real = torch::tensor({2.f, -1.f}), fake = torch::tensor({0.5f, -3.f});
  const auto cross = [](double score, bool wanted) {
    const double p = 1 / (1 + std::exp(-score));
    return -std::log(wanted ? p : 1 - p);
  };
  const double expected =
      (cross(2, true) + cross(-1, true) + cross(0.5, false) + cross(-3, false)) / 4;
  CHECK(nn::discrimination_loss(real, fake).item<double>() ==
        doctest::Approx(expected).epsilon(kClose));
}

TEST_CASE("the cosine distance is 0 of rows that point alike and 2 of opposite ones") {
  const Tensor rows = random_tensor({4, 3}, 8);
  CHECK(nn::cosine_distance(rows, rows * 2).item<double>() == doctest::Approx(0).epsilon(1e-6));
  CHECK(nn::cosine_distance(rows, -rows).item<double>() == doctest::Approx(2));
}

TEST_CASE("a module follows another by a moving average, without gradients") {
  nn::Linear online(3, 2, nn::Bias::kZero, RandomKey(1)),
      target(3, 2, nn::Bias::kZero, RandomKey(2));
  nn::stop_gradients(target);
  CHECK_FALSE(target.weight().requires_grad());
  const Tensor before = target.weight().clone();
  nn::follow_module(target, online, 0.75);
  check_close(target.weight(), before * 0.75 + online.weight().detach() * 0.25);
  nn::follow_module(target, online, 1);
  check_close(target.weight(), before * 0.75 + online.weight().detach() * 0.25);
  nn::follow_module(target, online, 0);
  CHECK(torch::equal(target.weight(), online.weight()));
  nn::Linear other(3, 2, nn::Bias::kZero, RandomKey(3));
  nn::copy_module(other, online);
  CHECK(torch::equal(other.weight(), online.weight()));
}

TEST_CASE("the momentum goes from its start to 1 on a cosine") {
  CHECK(nn::cosine_momentum(0.9, 17, 0) == 0.9);
  CHECK(nn::cosine_momentum(0.9, 0, 10) == doctest::Approx(0.9));
  CHECK(nn::cosine_momentum(0.9, 5, 10) == doctest::Approx(0.95));
  CHECK(nn::cosine_momentum(0.9, 10, 10) == doctest::Approx(1));
  CHECK(nn::cosine_momentum(0.9, 25, 10) == doctest::Approx(1));
}
