// Dynamic node classification: which classes a node is of at a time, and by how much, from what
// came before it (the node tasks of TGB: Huang et al., NeurIPS 2023).
//
// A query is a node at the time of one of its labels (NodeLabels). It sees events before that time,
// and labels before it: the cut is at each label's own time, wherever mini-batches begin. A model
// encodes the node, and a small network makes class scores of its row and, where wanted, of the
// node's past labels; or past labels alone are the scores (PastLabels). Labels are read from a
// relation once and kept apart from the graph, whose edges may stay on disk.
#pragma once

#include "tasks/dynamic_node_labels.h"
#include "tasks/event_parts.h"
#include "tasks/label_head.h"

#include <sluice/task.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class DynamicNodeClassification final : public Task {
 public:
  struct Options {
    std::string labels;
    EventSplitOptions split{.by = SplitBy::kQuantile};
    std::int64_t width = 64;
    std::int64_t hidden = 64;
    std::int64_t past_labels = 7;
    void describe(Schema& schema);
  };
  DynamicNodeClassification(const Options& options, const TaskContext& context);

  std::vector<std::size_t> target_types() const override { return {of_.node_type}; }
  std::int64_t output_width() const override { return options_.width; }
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const override;
  void open(const TaskData& data) override;
  bool reads_events() const override { return false; }
  std::uint64_t count(Part part, const GraphData& data) const override;
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const override;
  std::vector<std::string> warnings(const GraphData& data) const override;

  std::shared_ptr<torch::nn::Module> head() const override { return head_; }
  /// Class scores: [q, classes].
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  /// Cross-entropy against the labels' shares.
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  /// "ndcg@10", "loss" and, where edges have classes, "accuracy": dynamic_node_metrics.h.
  std::unique_ptr<MetricAccumulator> make_metrics() const override;
  std::string main_metric() const override { return "ndcg@10"; }
  Better direction(const std::string& metric) const override {
    return metric == "loss" ? Better::kLower : Better::kHigher;
  }

  /// Rows are in the order of (time, node): a node is there once for each of its labels.
  std::vector<IdColumn> prediction_ids() const override { return {{"id", of_.node_type}}; }
  std::vector<Array> predicted_nodes(const Batch& batch) const override {
    return {batch.queries.ids};
  }
  /// Where edges have classes: i64 [q, 1], the class that scores best. Else f32 [q, classes]: the
  /// share of each; of PastLabels as it is.
  torch::Tensor predict(const torch::Tensor& outputs) const override;
  std::vector<std::string> prediction_columns() const override;
  std::vector<std::string> prediction_names() const override { return names_; }
  std::vector<std::string> class_names() const override { return names_; }

 private:
  struct Stretch {
    std::uint64_t first = 0, last = 0;
  };
  Stretch stretch_of(Part part) const;
  torch::Tensor past_of(const Batch& batch) const;
  torch::Tensor shares_of(const Batch& batch) const;

  Options options_;
  LabelRelation of_;
  std::vector<std::string> names_;
  std::shared_ptr<LabelHead> head_;
  bool scores_are_shares_ = false;  // those of the last outputs

  // Of open().
  std::shared_ptr<const NodeLabels> labels_;
  std::array<std::uint64_t, 4> ends_{};
};

}  // namespace sluice::tasks
