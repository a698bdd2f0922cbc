#include "tasks/node_classification.h"

#include "tasks/class_auc.h"

#include <sluice/error.h>
#include <sluice/tasks/classification_metrics.h>
#include <sluice/tasks/labelled_type.h>

#include <algorithm>
#include <utility>

namespace sluice::tasks {

void NodeClassification::Options::describe(Schema& schema) {
  schema.field("node_type", node_type)
      .help("whose nodes to classify; empty: the only type with class labels");
  schema.field("auc", auc)
      .help(
          "whether evaluation gives auc too: each class against all others, the mean over classes; "
          "it keeps a score a node and class until its end");
  schema.field("predictions", predictions)
      .help(
          "table of class scores of a run before (sluice-prep attach): nodes for validation and "
          "test "
          "that it is sure of are trained on by the class it gives; empty: none");
  schema.field("confidence", confidence)
      .help("the probability above which predictions are trained on")
      .range(0, 1);
  schema.field("predicted_weight", predicted_weight)
      .help("of a predicted node's loss, times its probability, where a labelled one's is 1")
      .range(0, 1e6);
}

NodeClassification::NodeClassification(const Options& options, const TaskContext& context)
    : NodeTask(labelled_type(context.schema,
                             options.node_type,
                             {LabelKind::kClass, LabelKind::kMultiLabel},
                             "node_classification")),
      auc_(options.auc),
      predictions_{options.predictions, options.confidence, options.predicted_weight} {
  labels_ = *context.schema.nodes[target_type()].labels;
  if (!predictions_.table.empty() && labels_.kind != LabelKind::kClass)
    throw Error(ErrorCode::kUsage,
                "task.predictions are of one class a node, and these nodes have many",
                "leave task.predictions out");
}

void NodeClassification::open(const TaskData& data) {
  NodeTask::open(data);
  predicted_.reset();
  if (predictions_.table.empty()) return;
  if (continues())
    throw Error(ErrorCode::kUsage,
                "a run with task.predictions cannot be continued on what was appended",
                "set task.predictions = \"\"");
  predicted_ = std::make_unique<PredictedLabels>(data.dataset,
                                                 data.dataset.schema().nodes.at(target_type()),
                                                 data.dataset.split(data.split),
                                                 predictions_);
}

Array NodeClassification::nodes(Part part, const GraphData& data) const {
  return part == Part::kTrain && predicted_ ? predicted_->training_nodes()
                                            : NodeTask::nodes(part, data);
}

torch::Tensor NodeClassification::training_loss(Model& model, const Batch& batch, RandomKey key) {
  return predicted_ ? predicted_->loss(outputs(model, batch), batch)
                    : NodeTask::training_loss(model, batch, key);
}

std::int64_t NodeClassification::num_labelled(const Batch& batch) const {
  return predicted_ ? predicted_->count(batch) : NodeTask::num_labelled(batch);
}

torch::Tensor NodeClassification::loss(const torch::Tensor& outputs, const Batch& batch) {
  return labels_.kind == LabelKind::kClass ? class_loss(outputs, batch)
                                           : multilabel_loss(outputs, batch.labels);
}

std::unique_ptr<MetricAccumulator> NodeClassification::make_metrics() const {
  auto metrics = labels_.kind == LabelKind::kClass ? make_class_metrics(labels_.width)
                                                   : make_multilabel_metrics(labels_.width);
  return auc_ ? with_auc(std::move(metrics), labels_) : std::move(metrics);
}

std::int64_t NodeClassification::labels_that_count(const Array& labels) const {
  if (labels_.kind != LabelKind::kClass) return NodeTask::labels_that_count(labels);
  return std::ranges::count_if(labels.as<std::int32_t>(),
                               [](std::int32_t label) { return label >= 0; });
}

std::string NodeClassification::main_metric() const {
  return labels_.kind == LabelKind::kClass ? "accuracy" : "f1_micro";
}

Better NodeClassification::direction(const std::string& metric) const {
  return metric == "loss" ? Better::kLower : Better::kHigher;
}

torch::Tensor NodeClassification::predict(const torch::Tensor& outputs) const {
  if (labels_.kind == LabelKind::kClass) return outputs.argmax(1, /*keepdim=*/true);
  return (outputs > 0).to(torch::kInt64);
}

std::vector<std::string> NodeClassification::prediction_columns() const {
  if (labels_.kind == LabelKind::kClass) return {"class"};
  std::vector<std::string> columns;
  columns.reserve(labels_.width);
  for (std::uint32_t c = 0; c < labels_.width; ++c)
    columns.push_back("class_" + (labels_.names.empty() ? std::to_string(c) : labels_.names[c]));
  return columns;
}

std::vector<std::string> NodeClassification::prediction_names() const {
  return labels_.kind == LabelKind::kClass ? labels_.names : std::vector<std::string>{};
}

}  // namespace sluice::tasks
