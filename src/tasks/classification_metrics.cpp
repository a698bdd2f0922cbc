#include <sluice/tasks/classification_metrics.h>

#include "probe/class_counts.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <limits>
#include <map>

namespace sluice::tasks {
namespace {

using torch::Tensor;
namespace functional = torch::nn::functional;

double ratio(double part, std::int64_t whole) {
  return part / static_cast<double>(whole);
}

// Where nothing was labelled, or outputs of something that was are not finite.
std::map<std::string, double> no_figures() {
  const double none = std::numeric_limits<double>::quiet_NaN();
  return {{"accuracy", none}, {"f1_macro", none}, {"f1_micro", none}, {"loss", none}};
}

class ClassMetrics final : public MetricAccumulator {
 public:
  explicit ClassMetrics(std::int64_t classes) : counts_(static_cast<std::size_t>(classes)) {}

  void add(const Tensor& outputs, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    const Tensor scores = torch::log_softmax(outputs.to(torch::kFloat64), 1).contiguous();
    const Tensor winners = outputs.argmax(1);
    const Tensor finite_rows = outputs.isfinite().all(1);
    const auto finite = finite_rows.accessor<bool, 1>();
    const auto labels = batch.labels.as<std::int32_t>();
    const auto score = scores.accessor<double, 2>();
    const auto winner = winners.accessor<std::int64_t, 1>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) continue;
      const auto row = static_cast<std::int64_t>(i);
      all_finite_ &= finite[row];
      const auto actual = static_cast<std::size_t>(labels[i]);
      const auto predicted = static_cast<std::size_t>(winner[row]);
      counts_.add_actual(actual);
      counts_.add_predicted(predicted);
      if (actual == predicted) {
        counts_.add_correct(actual);
        ++num_correct_;
      }
      loss_ -= score[row][labels[i]];
      ++num_labelled_;
    }
  }

  std::map<std::string, double> result() const override {
    if (num_labelled_ == 0 || !all_finite_) return no_figures();
    return {{"accuracy", ratio(static_cast<double>(num_correct_), num_labelled_)},
            {"f1_macro", counts_.f1_macro()},
            {"f1_micro", counts_.f1_micro()},
            {"loss", ratio(loss_, num_labelled_)}};
  }

 private:
  probe::ClassCounts counts_;
  std::int64_t num_labelled_ = 0, num_correct_ = 0;
  double loss_ = 0;
  bool all_finite_ = true;  // outputs of labelled rows
};

class MultilabelMetrics final : public MetricAccumulator {
 public:
  explicit MultilabelMetrics(std::int64_t classes)
      : classes_(classes), counts_(static_cast<std::size_t>(classes)) {}

  void add(const Tensor& outputs, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    const Tensor truth = expand_bits(batch.labels, classes_);
    const Tensor scores = outputs.to(torch::kFloat64).contiguous();
    all_finite_ &= outputs.isfinite().all().item<bool>();
    loss_ += functional::binary_cross_entropy_with_logits(
                 scores,
                 truth.to(torch::kFloat64),
                 functional::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kSum))
                 .item<double>();
    const auto score = scores.accessor<double, 2>();
    const auto actual = truth.accessor<float, 2>();
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      bool all_right = true;
      for (std::int64_t c = 0; c < classes_; ++c) {
        all_right &=
            add_decision(static_cast<std::size_t>(c), score[row][c] > 0, actual[row][c] > 0);
      }
      num_correct_ += all_right ? 1 : 0;
      ++num_rows_;
    }
  }

  std::map<std::string, double> result() const override {
    if (num_rows_ == 0 || !all_finite_) return no_figures();
    return {{"accuracy", ratio(static_cast<double>(num_correct_), num_rows_)},
            {"f1_macro", counts_.f1_macro()},
            {"f1_micro", counts_.f1_micro()},
            {"loss", ratio(loss_, num_rows_ * classes_)}};
  }

 private:
  bool add_decision(std::size_t c, bool predicted, bool actual) {
    if (predicted) counts_.add_predicted(c);
    if (actual) counts_.add_actual(c);
    if (predicted && actual) counts_.add_correct(c);
    return predicted == actual;
  }

  std::int64_t classes_;
  probe::ClassCounts counts_;
  std::int64_t num_rows_ = 0, num_correct_ = 0;
  double loss_ = 0;
  bool all_finite_ = true;
};

}  // namespace

Tensor class_loss(const Tensor& outputs, const Batch& batch) {
  // Asked on the host: a GPU would have to be waited for.
  const auto known = batch.on_host().labels.as<std::int32_t>();
  if (std::none_of(known.begin(), known.end(), [](std::int32_t label) { return label >= 0; }))
    return outputs.sum() * 0;
  const Tensor targets = nn::as_tensor(batch.labels).to(torch::kInt64);
  return functional::cross_entropy(
      outputs, targets, functional::CrossEntropyFuncOptions().ignore_index(-1));
}

Tensor multilabel_loss(const Tensor& outputs, const Array& labels) {
  if (outputs.numel() == 0) return outputs.sum();
  return functional::binary_cross_entropy_with_logits(outputs,
                                                      expand_bits(labels, outputs.size(1)));
}

Tensor expand_bits(const Array& labels, std::int64_t classes) {
  const Tensor bytes = nn::as_tensor(labels);
  const Tensor places = torch::arange(8, bytes.options());
  return bytes.unsqueeze(-1)
      .bitwise_right_shift(places)
      .bitwise_and(1)
      .flatten(1)
      .narrow(1, 0, classes)
      .to(torch::kFloat32);
}

std::unique_ptr<MetricAccumulator> make_class_metrics(std::int64_t classes) {
  return std::make_unique<ClassMetrics>(classes);
}

std::unique_ptr<MetricAccumulator> make_multilabel_metrics(std::int64_t classes) {
  return std::make_unique<MultilabelMetrics>(classes);
}

}  // namespace sluice::tasks
