// Edge classification: one class an edge (cross-entropy; missing labels do not count), from what a
// model encodes of both ends.
#pragma once

#include <sluice/nn/linear.h>
#include <sluice/tasks/link_task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class EdgeClassification final : public LinkTask {
 public:
  struct Options {
    LinkPartsOptions links;
    std::int64_t width = 64;
    bool hide_links = false;
    void describe(Schema& schema);
  };
  EdgeClassification(const Options& options, const TaskContext& context);

  std::int64_t output_width() const override { return options_.width; }
  LabelsOf labels_of() const override { return {{}, relation(), row_classes()}; }
  bool has_labels(Part part, const GraphData& data) const override;
  std::shared_ptr<torch::nn::Module> head() const override { return head_; }

  /// Class scores: [q, classes].
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  std::int64_t num_labelled(const Batch& batch) const override;
  /// "accuracy", "f1_micro", "f1_macro", "loss".
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override { return "accuracy"; }
  Better direction(const std::string& metric) const override {
    return metric == "loss" ? Better::kLower : Better::kHigher;
  }

  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override { return {"class"}; }
  std::vector<std::string> prediction_names() const override { return labels_.names; }

 private:
  bool hides_links() const override { return options_.hide_links; }
  bool asks_whether() const override { return false; }
  LinkParts::RowTypes row_types() const override { return LinkParts::RowTypes::kLabels; }

  Options options_;
  LabelSchema labels_;
  std::shared_ptr<nn::Linear> head_;
};

}  // namespace sluice::tasks
