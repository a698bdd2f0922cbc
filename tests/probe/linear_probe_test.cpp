// The linear probe: separable rows, noise, a reference in f64 step by step, labels of both kinds.
#include "probe/linear_probe.h"
#include "probe/logistic.h"
#include "probe/support.h"
#include "support/expect_error.h"

#include <sluice/nn/init.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using probe::LinearProbeOptions;
using probe::NodeParts;
using probe::ProbeScores;
using torch::Tensor;

namespace {

// Thirds of all rows, one after the other: 0, 3, 6, ... are trained on.
NodeParts thirds(std::int64_t n) {
  const auto every = [n](std::int64_t first) { return torch::arange(first, n, 3); };
  return {every(0), every(1), every(2)};
}

bool same(const ProbeScores& a, const ProbeScores& b) {
  return a.train == b.train && a.valid == b.valid && a.test == b.test && a.f1_micro == b.f1_micro &&
         a.f1_macro == b.f1_macro;
}

// The probe once more, number by number in f64: accuracies of the epoch that is best on `valid`.
class Reference {
 public:
  Reference(const Tensor& rows, const Tensor& labels, std::size_t classes, RandomKey key)
      : rows_(rows),
        labels_(labels),
        classes_(classes),
        d_(static_cast<std::size_t>(rows.size(1))) {
    const double bound = 1 / std::sqrt(static_cast<double>(d_));
    const RandomKey drawn = key.with("linear probe");
    const auto take = [this](const Tensor& values) {
      for (std::int64_t i = 0; i < values.numel(); ++i)
        w_.push_back(static_cast<double>(values.const_data_ptr<float>()[i]));
    };
    const auto c = static_cast<std::int64_t>(classes);
    take(nn::uniform(drawn.with("weight"), {c, rows.size(1)}, bound));
    take(nn::uniform(drawn.with("bias"), {c}, bound));
    m_.resize(w_.size());
    v_.resize(w_.size());
  }

  std::array<double, 3> best(const NodeParts& parts, const LinearProbeOptions& options) {
    std::array<double, 3> figures{};
    double most = -1;
    for (std::int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
      step(parts.train, options, epoch);
      const double valid = accuracy(parts.valid);
      if (valid <= most) continue;
      most = valid;
      figures = {accuracy(parts.train), valid, accuracy(parts.test)};
    }
    return figures;
  }

 private:
  double x(std::int64_t row, std::size_t column) const {
    return static_cast<double>(rows_[row][static_cast<std::int64_t>(column)].item<float>());
  }
  std::vector<double> scores(std::int64_t row) const {
    std::vector<double> s(classes_);
    for (std::size_t c = 0; c < classes_; ++c) {
      s[c] = w_[classes_ * d_ + c];
      for (std::size_t k = 0; k < d_; ++k) s[c] += w_[c * d_ + k] * x(row, k);
    }
    return s;
  }
  double accuracy(const Tensor& part) const {
    double right = 0;
    for (std::int64_t i = 0; i < part.size(0); ++i) {
      const auto row = part[i].item<std::int64_t>();
      const std::vector<double> s = scores(row);
      right +=
          std::max_element(s.begin(), s.end()) - s.begin() == labels_[row].item<std::int64_t>();
    }
    return right / static_cast<double>(part.size(0));
  }
  void step(const Tensor& part, const LinearProbeOptions& options, std::int64_t epoch) {
    std::vector<double> gradient(w_.size());
    for (std::int64_t i = 0; i < part.size(0); ++i) {
      const auto row = part[i].item<std::int64_t>();
      std::vector<double> p = scores(row);
      double sum = 0;
      for (double& each : p) sum += each = std::exp(each);
      for (std::size_t c = 0; c < classes_; ++c) {
        const bool own = labels_[row].item<std::int64_t>() == static_cast<std::int64_t>(c);
        const double part_of = (p[c] / sum - (own ? 1 : 0)) / static_cast<double>(part.size(0));
        for (std::size_t k = 0; k < d_; ++k) gradient[c * d_ + k] += part_of * x(row, k);
        gradient[classes_ * d_ + c] += part_of;
      }
    }
    const auto t = static_cast<double>(epoch);
    for (std::size_t i = 0; i < w_.size(); ++i) {
      const double g = gradient[i] + options.weight_decay * w_[i];
      m_[i] = 0.9 * m_[i] + 0.1 * g;
      v_[i] = 0.999 * v_[i] + 0.001 * g * g;
      const double m = m_[i] / (1 - std::pow(0.9, t)), v = v_[i] / (1 - std::pow(0.999, t));
      w_[i] -= options.learning_rate * m / (std::sqrt(v) + 1e-8);
    }
  }

  const Tensor& rows_;
  const Tensor& labels_;
  std::size_t classes_, d_;
  std::vector<double> w_, m_, v_;  // weights, then biases
};

}  // namespace

TEST_CASE("classes that rows tell apart are all found; so are several classes a row") {
  const Tensor labels = torch::arange(90).remainder(5);
  const Tensor rows = 2 * torch::one_hot(labels, 5).to(torch::kFloat32);
  const ProbeScores scores = probe::linear_probe(rows, labels, thirds(90), {}, RandomKey(1));
  for (const double figure :
       {scores.train, scores.valid, scores.test, scores.f1_micro, scores.f1_macro})
    CHECK(figure == 1);

  // Four kinds of rows, each in all thirds: the signs of two columns are the two classes.
  const Tensor kind = torch::arange(96).floor_divide(3).remainder(4);
  const Tensor several =
      torch::stack({kind.remainder(2), kind.floor_divide(2)}, 1).to(torch::kUInt8);
  const Tensor signs = several.to(torch::kFloat32) * 2 - 1;
  const ProbeScores both = probe::linear_probe(signs, several, thirds(96), {}, RandomKey(1));
  CHECK(both.test == 1);
  CHECK(both.f1_micro == 1);
  CHECK(both.f1_macro == 1);
  CHECK(same(
      both, probe::linear_probe(signs, several.to(torch::kFloat32), thirds(96), {}, RandomKey(1))));
}

TEST_CASE("rows that know nothing of the classes are near chance") {
  const RandomKey key(2);
  const Tensor rows = normal_rows(6000, 8, key.with("rows"));
  const Tensor labels = drawn_labels(6000, 4, key.with("labels"));
  const ProbeScores scores =
      probe::linear_probe(rows, labels, thirds(6000), {.epochs = 50}, RandomKey(1));
  // 2000 test rows: a deviation is .0097.
  CHECK(std::abs(scores.test - 0.25) < 0.05);
  CHECK(scores.f1_micro == doctest::Approx(scores.test));
}

TEST_CASE("its epochs are those of a reference, and the best on validation counts") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    MESSAGE("seed " << seed);
    const RandomKey key(seed);
    const Tensor labels = drawn_labels(90, 3, key.with("labels"));
    const Tensor rows =
        normal_rows(90, 6, key.with("rows")) + torch::one_hot(labels, 6).to(torch::kFloat32);
    const LinearProbeOptions options{.epochs = 40, .learning_rate = 0.05, .weight_decay = 0.01};
    const ProbeScores scores = probe::linear_probe(rows, labels, thirds(90), options, key);
    const auto [train, valid, test] = Reference(rows, labels, 3, key).best(thirds(90), options);
    CHECK(scores.train == doctest::Approx(train));
    CHECK(scores.valid == doctest::Approx(valid));
    CHECK(scores.test == doctest::Approx(test));
  }
}

TEST_CASE("the best epoch counts, and one without a quality only where no other has any") {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  // The place of the epoch whose weights came back: each epoch has others.
  const auto chosen = [](const std::vector<double>& qualities) {
    std::vector<float> weights;
    const probe::LinearLayer best = probe::train_layer(
        {torch::zeros({1, 1}), torch::zeros({1})},
        torch::ones({2, 1}),
        [](const Tensor& scores) { return (scores - 3).square().mean(); },
        [&](const probe::LinearLayer& now) {
          weights.push_back(now.weight.item<float>());
          return qualities.at(weights.size() - 1);
        },
        {.epochs = std::ssize(qualities)});
    return std::ranges::find(weights, best.weight.item<float>()) - weights.begin();
  };
  CHECK(chosen({0.1, 0.5, kNone, 0.5, 0.4}) == 1);
  CHECK(chosen({kNone, 0.2, kNone}) == 1);
  CHECK(chosen({kNone, kNone, kNone}) == 2);
}

TEST_CASE("rows without labels are passed over, a part may be empty, threads change nothing") {
  const RandomKey key(4);
  const Tensor labels = drawn_labels(300, 3, key.with("labels"));
  const Tensor rows = normal_rows(300, 40, key.with("rows"));
  const ProbeScores scores = probe::linear_probe(rows, labels, thirds(300), {}, key);
  const int threads = at::get_num_threads();
  for (const int other : {1, 4}) {
    at::set_num_threads(other);
    CHECK(same(scores, probe::linear_probe(rows, labels, thirds(300), {}, key)));
    CHECK(at::get_num_threads() == other);
  }
  at::set_num_threads(threads);

  const Tensor more_rows = torch::cat({rows, normal_rows(30, 40, key.with("more"))});
  const Tensor more_labels = torch::cat({labels, torch::full({30}, -1, torch::kInt64)});
  const NodeParts parts = thirds(300), extra = thirds(30);
  const NodeParts more{torch::cat({parts.train, extra.train + 300}),
                       torch::cat({parts.valid, extra.valid + 300}),
                       torch::cat({parts.test, extra.test + 300})};
  CHECK(same(scores, probe::linear_probe(more_rows, more_labels, more, {}, key)));

  const probe::ProbedNodes alone =
      probe::probe_nodes(rows, labels, {parts.train, {}, parts.test}, {}, key);
  CHECK(std::isnan(alone.scores.valid));
  CHECK(alone.tested.equal(parts.test));
  CHECK(alone.right.to(torch::kFloat64).mean().item<double>() ==
        doctest::Approx(alone.scores.test));
}

TEST_CASE("it refuses what it cannot probe by") {
  const Tensor rows = torch::zeros({6, 2});
  const Tensor labels = torch::zeros({6}, torch::kInt64);
  const NodeParts parts = thirds(6);
  const auto probed = [&](const Tensor& x, const Tensor& y, const NodeParts& by) {
    return expect_error([&] { (void)probe::linear_probe(x, y, by, {}, RandomKey(1)); });
  };
  CHECK(probed(rows, torch::zeros({5}, torch::kInt64), parts).code() == ErrorCode::kUsage);
  CHECK(probed(rows, torch::zeros({6}), parts).code() == ErrorCode::kUsage);
  CHECK(probed(rows.to(torch::kFloat64), labels, parts).code() == ErrorCode::kUsage);
  CHECK(probed(rows, labels, {torch::tensor({6}, torch::kInt64), {}, {}}).code() ==
        ErrorCode::kUsage);
  const Error none = probed(rows, torch::full({6}, -1, torch::kInt64), parts);
  CHECK(none.code() == ErrorCode::kData);
  Tensor broken = rows.clone();
  broken[3][1] = std::numeric_limits<float>::quiet_NaN();
  const Error nan = probed(broken, labels, parts);
  CHECK(nan.code() == ErrorCode::kData);
  CHECK(nan.message().find("row 3, column 1") != std::string::npos);
}
