#include "tasks/edge_classification.h"

#include "tasks/encoded_rows.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/classification_metrics.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice::tasks {
namespace {

std::int64_t count_labelled(const Array& labels) {
  return labels.empty() ? 0
                        : std::ranges::count_if(labels.as<std::int32_t>(),
                                                [](std::int32_t label) { return label >= 0; });
}

}  // namespace

void EdgeClassification::Options::describe(Schema& schema) {
  links.describe(schema);
  schema.field("width", width).help("columns that the model encodes a node in").range(1, 1 << 20);
  schema.field("hide_links", hide_links)
      .help(
          "a mini-batch of training does not see the edges that it asks about, nor their reverse");
}

EdgeClassification::EdgeClassification(const Options& options, const TaskContext& context)
    : LinkTask(options.links, context.schema, "edge_classification"), options_(options) {
  const RelationSchema& of = context.schema.relations[relation()];
  if (!of.labels || of.labels->kind != LabelKind::kClass)
    throw Error(ErrorCode::kUsage,
                fmt::format("task 'edge_classification' needs class labels of the edges of '{}', "
                            "which has none",
                            of.key()),
                "import them (labels of [[edges]]), or set [task] relation");
  labels_ = *of.labels;
  head_ = std::make_shared<nn::Linear>(
      2 * options.width, labels_.width, nn::Bias::kZero, context.key.with("head"));
}

bool EdgeClassification::has_labels(Part part, const GraphData& data) const {
  const QueryRequest request{part, 1024, false, RandomKey(1), {}, data.ledger()};
  const auto asked = queries(request, data);
  for (std::uint64_t index = 0; index < asked->num_batches(); ++index) {
    const QueryBatch batch = asked->batch(0, index, data.ledger()).or_throw();
    if (batch.queries.ids.empty()) return false;
    if (count_labelled(data.labels(batch.queries.ids.as<std::uint64_t>())) > 0) return true;
  }
  return false;
}

torch::Tensor EdgeClassification::outputs(Model& model, const Batch& batch) {
  const Encoding encoded = model.encode(batch);
  const torch::Tensor ends =
      torch::cat({torch::embedding(encoded_rows(encoded, batch, source_type(), options_.width),
                                   nn::as_tensor(batch.queries.sources)),
                  torch::embedding(encoded_rows(encoded, batch, destination_type(), options_.width),
                                   nn::as_tensor(batch.queries.destinations))},
                 1);
  return head_->forward(torch::relu(ends));
}

torch::Tensor EdgeClassification::training_loss(Model& model, const Batch& batch, RandomKey) {
  return class_loss(outputs(model, batch), batch);
}

std::int64_t EdgeClassification::num_labelled(const Batch& batch) const {
  return count_labelled(batch.labels);
}

std::unique_ptr<MetricAccumulator> EdgeClassification::make_metrics() const {
  return make_class_metrics(labels_.width);
}

torch::Tensor EdgeClassification::predict(const torch::Tensor& outputs) const {
  return outputs.argmax(1, /*keepdim=*/true);
}

}  // namespace sluice::tasks
