// Areas under ROC curves against all pairs of rows, ties and missing labels among them.
#include "tasks/class_auc.h"

#include <sluice/array.h>
#include <sluice/random.h>
#include <sluice/tasks/classification_metrics.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::tasks;

namespace {

constexpr std::int64_t kRows = 90, kClasses = 4;

/// By all pairs; NaN where rows are of one kind.
double area_by_pairs(const std::vector<double>& scores, const std::vector<bool>& truth) {
  double above = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (!truth[i] || truth[j]) continue;
      ++pairs;
      above += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
    }
  }
  return above / pairs;
}

/// Few values, so that many are equal.
torch::Tensor coarse_scores(RandomKey key) {
  torch::Tensor scores = torch::empty({kRows, kClasses});
  for (std::int64_t i = 0; i < scores.numel(); ++i)
    scores.data_ptr<float>()[i] =
        static_cast<float>(key.below(7, static_cast<std::uint64_t>(i))) / 4 - 0.75f;
  return scores;
}

template <class T>
Batch batch_of(const std::vector<T>& labels, Array::Shape shape) {
  Batch batch;
  batch.labels = Array::make(dtype_of<T>, std::move(shape)).or_throw();
  std::copy(labels.begin(), labels.end(), batch.labels.template as<T>().begin());
  return batch;
}

}  // namespace

TEST_CASE("auc of many labels: the mean over classes, as all pairs of rows say") {
  const RandomKey key(11);
  const torch::Tensor outputs = coarse_scores(key.with("scores"));
  std::vector<std::uint8_t> bits(kRows);
  // Class 3 is nobody's: it has no area.
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<std::uint8_t>(key.with("bits").below(8, i));
  double sum = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    std::vector<double> scores;
    std::vector<bool> truth;
    for (std::int64_t i = 0; i < kRows; ++i) {
      scores.push_back(outputs[i][c].item<double>());
      truth.push_back((bits[static_cast<std::size_t>(i)] >> c & 1) != 0);
    }
    sum += area_by_pairs(scores, truth);
  }
  const LabelSchema labels{LabelKind::kMultiLabel, kClasses};
  const auto metrics = with_auc(make_multilabel_metrics(kClasses), labels);
  metrics->add(outputs, batch_of(bits, {kRows, 1}));
  CHECK(metrics->result().at("auc") == doctest::Approx(sum / 3).epsilon(1e-12));
  CHECK(metrics->result().contains("f1_macro"));
}

TEST_CASE("auc of classes: by probabilities, without rows that have no label, in any order") {
  const RandomKey key(12);
  const torch::Tensor outputs = coarse_scores(key.with("scores"));
  const torch::Tensor chances =
      torch::log_softmax(outputs.to(torch::kFloat64), 1).to(torch::kFloat32);
  std::vector<std::int32_t> classes(kRows);
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = static_cast<std::int32_t>(key.with("classes").below(5, i)) - 1;
  double sum = 0;
  for (std::int32_t c = 0; c < kClasses; ++c) {
    std::vector<double> scores;
    std::vector<bool> truth;
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int32_t actual = classes[static_cast<std::size_t>(i)];
      if (actual < 0) continue;
      scores.push_back(chances[i][c].item<double>());
      truth.push_back(actual == c);
    }
    sum += area_by_pairs(scores, truth);
  }
  const LabelSchema labels{LabelKind::kClass, kClasses};
  for (const bool turned : {false, true}) {
    const auto metrics = with_auc(make_class_metrics(kClasses), labels);
    const std::vector<std::int32_t> front(classes.begin(), classes.begin() + 40),
        back(classes.begin() + 40, classes.end());
    const auto add = [&](bool first) {
      if (first) metrics->add(outputs.narrow(0, 0, 40), batch_of(front, {40}));
      if (!first) metrics->add(outputs.narrow(0, 40, kRows - 40), batch_of(back, {kRows - 40}));
    };
    add(!turned);
    add(turned);
    CHECK(metrics->result().at("auc") == doctest::Approx(sum / kClasses).epsilon(1e-12));
  }
}

TEST_CASE("auc: perfect, none, and what is no number") {
  const LabelSchema labels{LabelKind::kClass, 2};
  const torch::Tensor outputs = torch::tensor({{2.f, -1.f}, {0.f, 1.f}, {-3.f, 3.f}});
  const auto auc = [&](const torch::Tensor& scores, const std::vector<std::int32_t>& classes) {
    const auto metrics = with_auc(make_class_metrics(2), labels);
    metrics->add(scores, batch_of(classes, {3}));
    return metrics->result().at("auc");
  };
  CHECK(auc(outputs, {0, 1, 1}) == 1);
  CHECK(auc(outputs, {1, 0, 0}) == 0);
  CHECK(std::isnan(auc(outputs, {1, 1, -1})));
  CHECK(std::isnan(auc(outputs, {-1, -1, -1})));
  torch::Tensor broken = outputs.clone();
  broken[1][0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(auc(broken, {0, 1, 1})));
  CHECK(auc(broken, {0, -1, 1}) == 1);
}
