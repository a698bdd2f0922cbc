// Regression of one or more f32 targets a node by squared error; NaN targets are missing.
#pragma once

#include <sluice/tasks/node_task.h>

namespace sluice::tasks {

class Regression final : public NodeTask {
 public:
  struct Options {
    std::string node_type;
    void describe(Schema& schema);
  };
  Regression(const Options& options, const TaskContext& context);

  std::int64_t output_width() const override { return width_; }

  torch::Tensor loss(const torch::Tensor& outputs, const Batch& batch) override;
  /// "mse" (also as "loss"), "mae", and "r2": 1 - squared error / variance, the mean over the
  /// targets whose values vary.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  /// Known targets, of all columns.
  std::int64_t labels_that_count(const Array& labels) const override;

  std::string main_metric() const override { return "mse"; }
  Better direction(const std::string& metric) const override;

  /// f32, one column a target.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override;

 private:
  std::int64_t width_ = 1;
};

}  // namespace sluice::tasks
