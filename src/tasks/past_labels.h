// PastLabels: the mean of a node's latest labels, without parameters: with one, the last value;
// what a model of dynamic node classification has to be above.
//
// As TGB's persistent forecast and moving average (Huang et al., NeurIPS 2023); the mean here is of
// the labels themselves, each alike. Nothing is encoded: the task asks it by its labels.
#pragma once

#include "tasks/dynamic_node_labels.h"

#include <sluice/model.h>
#include <sluice/options.h>

#include <torch/torch.h>

#include <cstdint>
#include <span>

namespace sluice::tasks {

/// The mean of the shares of the last `count` labels of each node before its time: f64 [q,
/// classes], on the host; zeros of a node that had none. Labels at the time itself are not seen.
/// @param nodes, times [q]
torch::Tensor mean_past_labels(const NodeLabels& labels,
                               std::span<const std::uint64_t> nodes,
                               std::span<const std::int64_t> times,
                               std::uint64_t count);

class PastLabels final : public Model {
 public:
  struct Options {
    std::int64_t labels = 1;
    void describe(Schema& schema);
  };
  PastLabels(const Options& options, const ModelContext& context);

  std::uint64_t count() const { return static_cast<std::uint64_t>(options_.labels); }

  /// Throws kUsage: it has no rows for other tasks.
  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 0; }
  BatchNeeds needs() const override;

 private:
  Options options_;
};

}  // namespace sluice::tasks
