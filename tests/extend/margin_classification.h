// MarginClassification: one class a node, by the multi-class margin loss, over nodes drawn with
// repeats: a task of a user's own.
#pragma once

#include <sluice/tasks/node_task.h>

namespace extend {

class MarginClassification final : public sluice::tasks::NodeTask {
 public:
  struct Options {
    double margin = 1;
    void describe(sluice::Schema& schema);
  };
  MarginClassification(const Options& options, const sluice::TaskContext& context);

  std::int64_t output_width() const override { return classes_; }
  std::unique_ptr<sluice::QuerySource> queries(const sluice::QueryRequest& request,
                                               const sluice::GraphData& data) const override;
  torch::Tensor loss(const torch::Tensor& outputs, const sluice::Batch& batch) override;
  std::unique_ptr<sluice::MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override { return "accuracy"; }
  sluice::Better direction(const std::string&) const override { return sluice::Better::kHigher; }
  torch::Tensor predict(const torch::Tensor& outputs) const override {
    return outputs.argmax(1, /*keepdim=*/true);
  }
  std::vector<std::string> prediction_columns() const override { return {"class"}; }

 private:
  double margin_;
  std::int64_t classes_;
};

}  // namespace extend
