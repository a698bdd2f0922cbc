// SelfSupervised: an encoder is trained without labels, by a pretext (pretext.h); how good its
// embeddings are is measured by a linear probe and by clusters, of the labels that there are.
//
// The model is the encoder: its output are the embeddings. What stands behind it is the head, which
// is thrown away: a run of node_classification goes on from the encoder alone ([pretrained]).
// Mini-batches of training ask about nodes without their labels; the full graph is one mini-batch
// of all nodes with all in-edges.
#pragma once

#include "probe/probe.h"
#include "probe/probe_run.h"
#include "tasks/encoder_task.h"
#include "tasks/masked_autoencoder.h"
#include "tasks/pretext.h"
#include "tasks/pretext_options.h"

#include <sluice/task.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::tasks {

enum class PretextMethod { kMasked, kDgi, kBgrl };

/// Which nodes, of the task's type.
enum class NodeSet {
  kAll,   ///< all
  kSplit  ///< those of the split
};

/// Which epoch's weights are tested.
enum class ChosenEpoch { kValidation, kLast };

struct SelfSupervisedOptions {
  PretextMethod method = PretextMethod::kMasked;
  std::string node_type;
  std::int64_t width = 256;
  NodeSet nodes = NodeSet::kAll;
  NodeSet measured = NodeSet::kSplit;
  ChosenEpoch choose = ChosenEpoch::kValidation;
  MaskedAutoencoderOptions parts;
  ViewsOptions views;
  MomentumOptions momentum;
  probe::LinearProbeOptions probe;
  probe::Floors floors = probe::Floors::kBeside;
  void describe(Schema& schema);
};

class SelfSupervised final : public Task, public EncoderTask {
 public:
  using Options = SelfSupervisedOptions;
  /// Throws kUsage for datasets of several node types or relations, for a node type without
  /// features, and for labels that are numbers.
  SelfSupervised(const Options& options, const TaskContext& context);

  std::vector<std::size_t> target_types() const override { return {type_}; }
  std::int64_t output_width() const override { return options_.width; }
  std::uint64_t expected(Part part,
                         const GraphSchema& schema,
                         const std::string& split) const override;
  /// A dataset without splits has no node to measure by; throws kUsage where it has others than the
  /// one that is named, or must name those that are trained on.
  void open(const TaskData& data) override;
  bool reads_events() const override { return false; }
  LabelsOf labels_of() const override { return {type_, {}}; }
  std::uint64_t count(Part part, const GraphData& data) const override;
  /// Of the training part: what is trained on, labelled or not. Of the others: those that the probe
  /// needs, so training nodes are among them.
  std::unique_ptr<QuerySource> queries(const QueryRequest& request,
                                       const GraphData& data) const override;
  bool has_labels(Part part, const GraphData& data) const override;

  std::shared_ptr<torch::nn::Module> head() const override { return pretext_; }
  torch::Tensor outputs(Model& model, const Batch& batch) override;
  torch::Tensor training_loss(Model& model, const Batch& batch, RandomKey key) override;
  std::unique_ptr<MetricAccumulator> make_metrics() const override {
    return metrics_of(Part::kTest, main_metric());
  }
  std::string main_metric() const override { return "accuracy"; }
  Better direction(const std::string& metric) const override;

  std::vector<IdColumn> prediction_ids() const override { return {{"id", type_}}; }
  std::vector<Array> predicted_nodes(const Batch& batch) const override {
    return {batch.queries.ids};
  }
  /// The embeddings.
  torch::Tensor predict(const torch::Tensor& outputs) const override { return outputs; }
  std::vector<std::string> prediction_columns() const override;

  // As an EncoderTask.

  std::int64_t layers_behind() const override { return pretext_->layers_behind(); }
  TargetStart target_start() const override;
  void run_on(const kernels::Executor& executor) override { executor_ = executor; }
  void serve(const Model& model, std::shared_ptr<Model> target) override;
  std::uint64_t kept_bytes(std::uint64_t rows) const override;
  std::unique_ptr<MetricAccumulator> metrics_of(Part part,
                                                const std::string& chosen) const override;
  std::vector<std::string> validation_metrics() const override;

 private:
  // Of a split's parts.
  struct Sizes {
    std::uint64_t train = 0, valid = 0, test = 0;
  };

  std::uint64_t nodes_asked(Part part, std::uint64_t all, const Sizes& split) const;
  Array nodes_of(Part part, const GraphData& data) const;

  Options options_;
  std::size_t type_;
  std::optional<LabelSchema> labels_;
  RandomKey key_;  // of the run's seed, for probes
  Split split_;
  std::shared_ptr<Pretext> pretext_;
  kernels::Executor executor_;
  std::shared_ptr<Model> target_;  // among the pretext's modules
};

}  // namespace sluice::tasks
