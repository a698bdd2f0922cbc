// Node classification: one class a node (cross-entropy; missing labels do not count), or any number
// of classes a node (binary cross-entropy by class). With predictions of a run before, nodes that
// it is sure of are trained on too (tasks/predicted_labels.h).
#pragma once

#include "tasks/predicted_labels.h"

#include <sluice/tasks/node_task.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class NodeClassification final : public NodeTask {
 public:
  struct Options {
    std::string node_type;
    bool auc = false;
    std::string predictions;
    double confidence = 0.75;
    double predicted_weight = 10;
    void describe(Schema& schema);
  };
  NodeClassification(const Options& options, const TaskContext& context);

  std::int64_t output_width() const override { return labels_.width; }

  /// Throws kUsage too for predictions that are not of this type's classes, or not there.
  void open(const TaskData& data) override;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  std::int64_t num_labelled(const Batch& batch) const override;
  torch::Tensor loss(const torch::Tensor& outputs, const Batch& batch) override;
  /// "accuracy" (multi-label: every class of a node right), "f1_micro", "f1_macro", "loss"; "auc"
  /// where the options ask for it.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::int64_t labels_that_count(const Array& labels) const override;

  std::string main_metric() const override;
  Better direction(const std::string& metric) const override;

  /// i64: one column, the class, or a column of 0 or 1 for each class.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override;
  std::vector<std::string> prediction_names() const override;
  std::vector<std::string> class_names() const override { return labels_.names; }

 protected:
  Array nodes(Part part, const GraphData& data) const override;

 private:
  LabelSchema labels_;
  bool auc_;
  PredictionOptions predictions_;
  std::unique_ptr<const PredictedLabels> predicted_;  // null: no predictions
};

}  // namespace sluice::tasks
