#include "tasks/class_auc.h"

#include "probe/ranking_areas.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/classification_metrics.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace sluice::tasks {
namespace {

constexpr double kNoAuc = std::numeric_limits<double>::quiet_NaN();

std::span<const float> values_in(const torch::Tensor& scores) {
  return {scores.data_ptr<float>(), static_cast<std::size_t>(scores.numel())};
}

/// @param scores f32 [n], finite @param truth f32 [n] NaN where all rows are of one kind
double area_of(const torch::Tensor& scores, const torch::Tensor& truth) {
  const torch::Tensor is_one = truth.gt(0);
  const auto sorted = [&scores](const torch::Tensor& rows) {
    return std::get<0>(scores.masked_select(rows).sort(0, /*descending=*/true)).contiguous();
  };
  const torch::Tensor ones = sorted(is_one), others = sorted(is_one.logical_not());
  return probe::ranking_areas(values_in(ones), values_in(others)).auc;
}

class AucMetrics final : public MetricAccumulator {
 public:
  AucMetrics(std::unique_ptr<MetricAccumulator> others, const LabelSchema& labels)
      : others_(std::move(others)), kind_(labels.kind), classes_(labels.width) {}

  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    others_->add(outputs, batch);
    if (kind_ == LabelKind::kMultiLabel)
      return auc_.add(outputs.to(torch::kFloat32), expand_bits(batch.labels, classes_));
    // The probabilities of a row sum to 1, so that rows can be compared by them.
    const torch::Tensor scores =
        torch::log_softmax(outputs.to(torch::kFloat64), 1).to(torch::kFloat32);
    const torch::Tensor labels = nn::as_tensor(batch.labels).to(torch::kInt64);
    const torch::Tensor known = labels.ge(0).nonzero().flatten();
    const torch::Tensor truth =
        torch::one_hot(labels.index_select(0, known), classes_).to(torch::kFloat32);
    auc_.add(scores.index_select(0, known), truth);
  }

  std::map<std::string, double> result() const override {
    std::map<std::string, double> figures = others_->result();
    figures["auc"] = auc_.mean();
    return figures;
  }

 private:
  std::unique_ptr<MetricAccumulator> others_;
  LabelKind kind_;
  std::int64_t classes_;
  ClassAuc auc_;
};

}  // namespace

void ClassAuc::add(const torch::Tensor& scores, const torch::Tensor& truth) {
  if (scores.size(0) == 0) return;
  scores_.push_back(scores.detach().clone());
  truth_.push_back(truth);
}

double ClassAuc::mean() const {
  if (scores_.empty()) return kNoAuc;
  const torch::Tensor scores = torch::cat(scores_), truth = torch::cat(truth_);
  if (!scores.isfinite().all().item<bool>()) return kNoAuc;
  double sum = 0;
  std::int64_t areas = 0;
  for (std::int64_t c = 0; c < scores.size(1); ++c) {
    const double area = area_of(scores.select(1, c), truth.select(1, c));
    if (std::isnan(area)) continue;  // rows of one kind alone
    sum += area;
    ++areas;
  }
  return areas == 0 ? kNoAuc : sum / static_cast<double>(areas);
}

std::unique_ptr<MetricAccumulator> with_auc(std::unique_ptr<MetricAccumulator> others,
                                            const LabelSchema& labels) {
  return std::make_unique<AucMetrics>(std::move(others), labels);
}

}  // namespace sluice::tasks
