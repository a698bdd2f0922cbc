// PredictedLabels: what a model of before says of nodes that have no label to learn from, as labels
// of a later stage of training (SeHGNN, Yang et al. 2023): nodes for validation and test that it is
// sure of are trained on too, by the class it gives them. Their own labels are never looked at.
#pragma once

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice {
struct Batch;
}

namespace sluice::tasks {

struct PredictionOptions {
  std::string table;         ///< of class scores, a column a class; empty: none
  double confidence = 0.75;  ///< nodes join whose largest probability is above
  double weight = 10;        ///< of such a node's loss, times that probability
};

class PredictedLabels {
 public:
  /// Reads the scores of the split's nodes for validation and test; what joins is kept, 24 bytes a
  /// node with the list of all that are trained on, charged as "predicted labels". Throws Error:
  /// kUsage where the type has no such table, or one without a column a class; kData for scores
  /// that are not finite.
  PredictedLabels(const Dataset& dataset,
                  const NodeTypeSchema& node,
                  const Split& split,
                  const PredictionOptions& options);

  /// u64 [n]: the split's training nodes and those that join, ascending; shared.
  const Array& training_nodes() const { return training_nodes_; }
  /// Ids of those that join, ascending.
  std::span<const std::uint64_t> joined() const {
    return ids_.as<std::uint64_t>().first(num_joined_);
  }

  /// How many queries of a mini-batch have a label to learn from. @param batch on the host
  std::int64_t count(const Batch& batch) const;
  /// The mean over those of cross-entropy, where a node that joined counts weight times its
  /// probability. @param outputs f32 [queries, classes], of the mini-batch
  torch::Tensor loss(const torch::Tensor& outputs, const Batch& batch) const;

 private:
  void join(const Dataset& dataset, const NodeTypeSchema& node, const Array& candidates);
  void add(std::span<const std::uint64_t> nodes, const torch::Tensor& scores);
  void list_training_nodes(const Split& split, MemoryLedger* ledger);
  std::optional<std::size_t> place_of(std::uint64_t node) const;

  PredictionOptions options_;
  Array ids_, classes_, probabilities_;  // u64, i32, f32 [nodes for validation and test]
  std::size_t num_joined_ = 0;           // of those
  Array training_nodes_;
};

}  // namespace sluice::tasks
