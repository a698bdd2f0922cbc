#include "margin_classification.h"

#include "drawn_nodes.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/classification_metrics.h>
#include <sluice/tasks/labelled_type.h>

namespace extend {

void MarginClassification::Options::describe(sluice::Schema& schema) {
  schema.field("margin", margin).help("by how much the right class must lead").at_least(0);
}

MarginClassification::MarginClassification(const Options& options,
                                           const sluice::TaskContext& context)
    : NodeTask(sluice::tasks::labelled_type(
          context.schema, "", {sluice::LabelKind::kClass}, "margin_classification")),
      margin_(options.margin),
      classes_(context.schema.nodes[target_type()].labels->width) {}

std::unique_ptr<sluice::QuerySource> MarginClassification::queries(
    const sluice::QueryRequest& request, const sluice::GraphData& data) const {
  if (request.part != sluice::Part::kTrain) return NodeTask::queries(request, data);
  return std::make_unique<DrawnNodes>(nodes(request.part, data),
                                      target_type(),
                                      data.schema().nodes.size(),
                                      request.batch_size,
                                      request.key);
}

torch::Tensor MarginClassification::loss(const torch::Tensor& outputs, const sluice::Batch& batch) {
  const torch::Tensor labels = sluice::nn::as_tensor(batch.labels).to(torch::kInt64);
  return torch::multi_margin_loss(outputs, labels, /*p=*/1, margin_);
}

std::unique_ptr<sluice::MetricAccumulator> MarginClassification::make_metrics() const {
  return sluice::tasks::make_class_metrics(classes_);
}

}  // namespace extend
