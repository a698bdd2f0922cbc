#include "tasks/regression.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/labelled_type.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::tasks {
namespace {

/// Sums over the known values of one target.
struct TargetSums {
  std::int64_t count = 0;
  double squared_error = 0, absolute_error = 0;
  double mean = 0, squared_deviation = 0;  ///< of the truth, by Welford's updates

  void add(double output, double truth) {
    ++count;
    squared_error += (output - truth) * (output - truth);
    absolute_error += std::abs(output - truth);
    const double deviation = truth - mean;
    mean += deviation / static_cast<double>(count);
    squared_deviation += deviation * (truth - mean);
  }
};

class RegressionMetrics final : public MetricAccumulator {
 public:
  explicit RegressionMetrics(std::int64_t width) : targets_(static_cast<std::size_t>(width)) {}

  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::Tensor values = outputs.detach().to(torch::kFloat32).contiguous();
    const float* output = values.data_ptr<float>();
    const auto truth = batch.labels.as<float>();
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (std::isnan(truth[i])) continue;
      all_finite_ &= std::isfinite(output[i]);
      targets_[i % targets_.size()].add(output[i], truth[i]);
    }
  }

  std::map<std::string, double> result() const override {
    double squared = 0, absolute = 0, r2 = 0;
    std::int64_t count = 0, varying = 0;
    for (const TargetSums& sums : targets_) {
      count += sums.count;
      squared += sums.squared_error;
      absolute += sums.absolute_error;
      if (sums.squared_deviation <= 0) continue;
      r2 += 1 - sums.squared_error / sums.squared_deviation;
      ++varying;
    }
    if (count == 0 || !all_finite_) {
      const double none = std::numeric_limits<double>::quiet_NaN();
      return {{"loss", none}, {"mae", none}, {"mse", none}, {"r2", none}};
    }
    const auto mean = [](double sum, std::int64_t n) {
      return n == 0 ? 0 : sum / static_cast<double>(n);
    };
    const double mse = mean(squared, count);
    return {{"loss", mse}, {"mae", mean(absolute, count)}, {"mse", mse}, {"r2", mean(r2, varying)}};
  }

 private:
  std::vector<TargetSums> targets_;
  bool all_finite_ = true;  // outputs of known targets
};

}  // namespace

void Regression::Options::describe(Schema& schema) {
  schema.field("node_type", node_type)
      .help("whose nodes' targets to predict; empty: the only type with regression labels");
}

Regression::Regression(const Options& options, const TaskContext& context)
    : NodeTask(labelled_type(
          context.schema, options.node_type, {LabelKind::kRegression}, "regression")) {
  width_ = context.schema.nodes[target_type()].labels->width;
}

torch::Tensor Regression::loss(const torch::Tensor& outputs, const Batch& batch) {
  const torch::Tensor truth = nn::as_tensor(batch.labels);
  const torch::Tensor known = torch::isnan(truth).logical_not();
  // Counted on the host: a GPU would have to be waited for.
  const std::int64_t count = num_labelled(batch.on_host());
  if (count == 0) return outputs.sum() * 0;
  // where, not multiplication: NaN * 0 is NaN.
  const torch::Tensor error = torch::where(known, outputs - truth, torch::zeros_like(truth));
  return error.square().sum() / count;
}

std::int64_t Regression::labels_that_count(const Array& labels) const {
  return std::ranges::count_if(labels.as<float>(),
                               [](float target) { return !std::isnan(target); });
}

std::unique_ptr<MetricAccumulator> Regression::make_metrics() const {
  return std::make_unique<RegressionMetrics>(width_);
}

Better Regression::direction(const std::string& metric) const {
  return metric == "r2" ? Better::kHigher : Better::kLower;
}

torch::Tensor Regression::predict(const torch::Tensor& outputs) const {
  return outputs.to(torch::kFloat32);
}

std::vector<std::string> Regression::prediction_columns() const {
  if (width_ == 1) return {"target"};
  std::vector<std::string> columns;
  columns.reserve(static_cast<std::size_t>(width_));
  for (std::int64_t c = 0; c < width_; ++c) columns.push_back(fmt::format("target_{}", c));
  return columns;
}

}  // namespace sluice::tasks
