// Areas under the ROC curves of classes: each against all others, and their mean.
#pragma once

#include <sluice/graph_schema.h>
#include <sluice/task.h>

#include <torch/torch.h>

#include <memory>
#include <vector>

namespace sluice::tasks {

/// Keeps all scores and truths, 8 bytes a row and class. The order of add() calls does not matter.
class ClassAuc {
 public:
  /// @param scores f32 [n, classes], higher for the class @param truth f32 of the same shape, 0 or
  /// 1
  void add(const torch::Tensor& scores, const torch::Tensor& truth);
  /// The chance that a row of the class scores above one that is not of it, half of it where they
  /// are equal; the mean over classes that have rows of both kinds. NaN where none has, or a score
  /// is not finite.
  double mean() const;

 private:
  std::vector<torch::Tensor> scores_, truth_;
};

/// The figures of `others`, and "auc". @param labels kClass or kMultiLabel
std::unique_ptr<MetricAccumulator> with_auc(std::unique_ptr<MetricAccumulator> others,
                                            const LabelSchema& labels);

}  // namespace sluice::tasks
