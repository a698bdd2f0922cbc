#include "tasks/dynamic_node_classification.h"

#include "tasks/dynamic_node_metrics.h"
#include "tasks/dynamic_node_queries.h"
#include "tasks/encoded_rows.h"
#include "tasks/past_labels.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/sampler.h>  // IWYU pragma: keep

#include <fmt/format.h>

#include <span>

namespace sluice::tasks {
namespace {

constexpr const char* kDynamicTask = "task 'dynamic_node_classification'";

[[noreturn]] void refuse_labels(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, fmt::format("{}: {}", kDynamicTask, message), hint);
}

std::span<const std::uint64_t> nodes_of(const Batch& host) {
  return host.queries.ids.as<std::uint64_t>();
}

std::span<const std::int64_t> times_of(const Batch& host) {
  return host.queries.times.as<std::int64_t>();
}

}  // namespace

void DynamicNodeClassification::Options::describe(Schema& schema) {
  schema.field("labels", labels)
      .help(
          "the relation whose edges are labels at times, of their sources: its name, or "
          "SOURCE__NAME__TARGET; by the edges' classes, else the target is the class and the "
          "weight how much of it; empty: the only relation with times and classes");
  split.describe(schema);
  schema.field("width", width).help("columns that the model encodes a node in").range(1, 1 << 20);
  schema.field("hidden", hidden)
      .help("hidden columns of the network over a node's row that scores classes")
      .range(1, 1 << 20);
  schema.field("past_labels", past_labels)
      .help(
          "that network sees the node's last label before the time too, and the mean of its last "
          "so many; 0: neither")
      .range(0, 1 << 20);
}

DynamicNodeClassification::DynamicNodeClassification(const Options& options,
                                                     const TaskContext& context)
    : options_(options), of_(LabelRelation::find(context.schema, options.labels, kDynamicTask)) {
  options.split.check();
  if (options.split.by == SplitBy::kStored)
    refuse_labels("labels at times have no stored split", "set task.split_by = \"quantile\"");
  if (of_.edges_have_classes) names_ = context.schema.relations[of_.relation].labels->names;
  const auto classes = static_cast<std::int64_t>(of_.classes);
  LabelHeadOptions head;
  head.width = options.width;
  head.past = options.past_labels > 0 ? 2 * classes : 0;
  head.hidden = options.hidden;
  head.classes = classes;
  head_ = std::make_shared<LabelHead>(head, context.key.with("head"));
}

std::uint64_t DynamicNodeClassification::expected(Part part,
                                                  const GraphSchema& schema,
                                                  const std::string& /*split*/) const {
  const RelationSchema& relation = schema.relations.at(of_.relation);
  return EventParts::expected(part, options_.split, relation.edges + relation.appended);
}

void DynamicNodeClassification::open(const TaskData& data) {
  labels_.reset();  // before the new ones take room
  labels_ = std::make_shared<const NodeLabels>(NodeLabels::load(data.dataset, of_));
  const NodeLabels& labels = *labels_;
  ends_ = part_ends(options_.split, labels.size(), [&labels](std::uint64_t number) {
    return labels.time(number);
  });
  if (ends_[1] != ends_[0]) return;
  refuse_labels(
      labels.size() == 0 ? "there are no labels" : "the split leaves no labels for training",
      "import labels with their times, or set task.split_by and task.edge_split or "
      "task.split_times");
}

DynamicNodeClassification::Stretch DynamicNodeClassification::stretch_of(Part part) const {
  if (part == Part::kAll) return {0, labels_->size()};
  const auto place = static_cast<std::size_t>(part);
  return {ends_.at(place), ends_.at(place + 1)};
}

std::uint64_t DynamicNodeClassification::count(Part part, const GraphData& /*data*/) const {
  const Stretch of = stretch_of(part);
  return of.last - of.first;
}

std::unique_ptr<QuerySource> DynamicNodeClassification::queries(const QueryRequest& request,
                                                                const GraphData& data) const {
  if (request.sampler && request.sampler->visibility() != "strict")
    refuse_labels("a label's node sees what was before the label's time, and nothing else",
                  "set sampler.type = \"temporal\" and sampler.visibility = \"strict\"");
  const Stretch of = stretch_of(request.part);
  LabelQueryOptions options;
  options.node_type = of_.node_type;
  options.num_types = data.schema().nodes.size();
  options.first = of.first;
  options.last = of.last;
  options.batch_size = request.batch_size;
  options.seeds = request.sampler ? LabelSeeds::kTimes : LabelSeeds::kNodes;
  return std::make_unique<LabelQueries>(labels_, options);
}

std::vector<std::string> DynamicNodeClassification::warnings(const GraphData& data) const {
  if (labels_->left_out() == 0) return {};
  return {fmt::format("{} edges of '{}' have no class, or a weight of 0: they are no labels",
                      labels_->left_out(),
                      data.schema().relations.at(of_.relation).key())};
}

// f32 [q, 2 classes]: the last label, then the mean of the last ones.
torch::Tensor DynamicNodeClassification::past_of(const Batch& batch) const {
  if (options_.past_labels == 0) return {};
  const Batch& host = batch.on_host();
  const auto count = static_cast<std::uint64_t>(options_.past_labels);
  return torch::cat({mean_past_labels(*labels_, nodes_of(host), times_of(host), 1),
                     mean_past_labels(*labels_, nodes_of(host), times_of(host), count)},
                    1)
      .to(torch::kFloat32);
}

torch::Tensor DynamicNodeClassification::outputs(Model& model, const Batch& batch) {
  const auto* const past_labels = dynamic_cast<const PastLabels*>(&model);
  scores_are_shares_ = past_labels != nullptr;
  if (past_labels != nullptr) {
    const Batch& host = batch.on_host();
    return mean_past_labels(*labels_, nodes_of(host), times_of(host), past_labels->count());
  }
  if (!batch.layers.empty() && batch.nodes.at(of_.node_type).times.shape().empty())
    refuse_labels("this sampler shows a node what came after its label",
                  "set sampler.type = \"temporal\"");
  torch::Tensor rows = encoded_rows(model.encode(batch), batch, of_.node_type, options_.width);
  // Where each seed is asked about once it is in the order of the seeds.
  if (batch.num_queries() != batch.num_seeds(of_.node_type))
    rows = torch::embedding(rows, nn::as_tensor(batch.queries.nodes));
  torch::Tensor past = past_of(batch);
  if (past.defined()) past = past.to(rows.device());
  return head_->forward(rows, past);
}

// f32 [q, classes]
torch::Tensor DynamicNodeClassification::shares_of(const Batch& batch) const {
  const Batch& host = batch.on_host();
  const auto nodes = nodes_of(host);
  const auto times = times_of(host);
  const auto width = static_cast<std::size_t>(of_.classes);
  torch::Tensor shares = torch::zeros(
      {static_cast<std::int64_t>(nodes.size()), static_cast<std::int64_t>(width)}, torch::kFloat64);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto place = labels_->find(nodes[i], times[i]);
    if (place) labels_->add_shares(*place, {shares.data_ptr<double>() + i * width, width});
  }
  return shares.to(torch::kFloat32);
}

torch::Tensor DynamicNodeClassification::training_loss(Model& model,
                                                       const Batch& batch,
                                                       RandomKey /*key*/) {
  // Nothing to learn: a loss without parts, so that a step may be tried all the same.
  if (dynamic_cast<const PastLabels*>(&model) != nullptr)
    return torch::zeros({}, torch::TensorOptions().requires_grad(true));
  const torch::Tensor scores = outputs(model, batch);
  const torch::Tensor shares = shares_of(batch).to(scores.device());
  return -(shares * torch::log_softmax(scores, 1)).sum(1).mean();
}

std::unique_ptr<MetricAccumulator> DynamicNodeClassification::make_metrics() const {
  return make_dynamic_node_metrics(
      labels_, of_.edges_have_classes ? LabelAccuracy::kMeasured : LabelAccuracy::kLeftOut);
}

torch::Tensor DynamicNodeClassification::predict(const torch::Tensor& outputs) const {
  if (of_.edges_have_classes) return outputs.argmax(1, /*keepdim=*/true);
  return (scores_are_shares_ ? outputs : torch::softmax(outputs, 1)).to(torch::kFloat32);
}

std::vector<std::string> DynamicNodeClassification::prediction_columns() const {
  if (of_.edges_have_classes) return {"class"};
  std::vector<std::string> columns;
  columns.reserve(of_.classes);
  for (std::uint64_t c = 0; c < of_.classes; ++c) columns.push_back(fmt::format("class_{}", c));
  return columns;
}

}  // namespace sluice::tasks
