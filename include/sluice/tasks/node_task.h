// NodeTask: what tasks about the nodes of one type share: a node's row is its output, and a split
// of nodes says which are asked about.
#pragma once

#include <sluice/task.h>
#include <sluice/tasks/continual_task.h>

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

class NodeTask : public Task, public ContinualTask {
 public:
  std::vector<std::size_t> target_types() const final { return {target_type_}; }
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const final;
  /// Throws kUsage where the split is of another node type.
  void open(const TaskData& data) override;
  bool reads_events() const override { return false; }
  LabelsOf labels_of() const final { return {target_type_, {}}; }
  std::uint64_t count(Part part, const GraphData& data) const final;
  /// Each node of the part once an epoch, unless a task says otherwise.
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const override;
  /// Looks until it finds one; true where the type has no labels at all.
  bool has_labels(Part part, const GraphData& data) const final;

  // As a ContinualTask: what is appended are nodes of the type. No split lists them: their parts
  // are drawn by number, whatever the seed.

  std::uint64_t num_ids(const GraphSchema& schema) const final;
  void divide(const DataStages& stages) final;
  void turn_to(Era era) final { era_ = era; }
  std::shared_ptr<const ReplayBuffer> make_buffer(const ReplayOptions& options,
                                                  const GraphData& data) const final;
  std::unique_ptr<QuerySource> replayed(const QueryRequest& request,
                                        const GraphData& data,
                                        std::shared_ptr<const ReplayBuffer> buffer,
                                        std::uint64_t batches) const final;

  torch::Tensor outputs(Model& model, const Batch& batch) final;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  std::int64_t num_labelled(const Batch& batch) const override {
    return labels_that_count(batch.labels);
  }

  std::vector<IdColumn> prediction_ids() const final { return {{"id", target_type_}}; }
  std::vector<Array> predicted_nodes(const Batch& batch) const final { return {batch.queries.ids}; }

  /// Scalar to minimise, the mean over the batch's labels that count.
  virtual torch::Tensor loss(const torch::Tensor& outputs, const Batch& batch) = 0;
  /// How many of some rows of labels, in host memory, count: all, unless a task knows of missing
  /// ones.
  virtual std::int64_t labels_that_count(const Array& labels) const {
    return labels.shape().empty() ? 0 : labels.shape().front();
  }

 protected:
  explicit NodeTask(std::size_t target_type) : target_type_(target_type) {}
  std::size_t target_type() const { return target_type_; }
  /// Whether it is about what was appended to a dataset, of divide().
  bool continues() const { return !stages_.since.empty(); }
  /// u64 [n]: those of a part; those that the split lists, unless a task trains on more.
  virtual Array nodes(Part part, const GraphData& data) const;

 private:
  const Split& split_of(Era era) const { return splits_.at(static_cast<std::size_t>(era)); }
  // Numbers of an era's nodes: [first, last).
  std::uint64_t first_of(Era era) const;
  std::uint64_t last_of(Era era, const GraphData& data) const;
  void divide_split(const Split& split, std::uint64_t count, MemoryLedger* ledger);

  std::size_t target_type_;
  DataStages stages_;
  Era era_ = Era::kNew;
  std::array<Split, 2> splits_;  // by Era
};

}  // namespace sluice::tasks
