// The losses and metrics of node classification, for one class a node and for many.
#pragma once

#include <sluice/task.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::tasks {

/// Mean cross-entropy over the labelled rows; 0 (with zero gradients) where none is labelled.
/// @param batch whose labels are i32 [n], -1: missing
torch::Tensor class_loss(const torch::Tensor& outputs, const Batch& batch);

/// Mean binary cross-entropy over rows and classes. @param labels u8 [n, ceil(classes / 8)]
torch::Tensor multilabel_loss(const torch::Tensor& outputs, const Array& labels);

/// f32 [n, classes] of 0 and 1, from bits, lowest first.
torch::Tensor expand_bits(const Array& labels, std::int64_t classes);

std::unique_ptr<MetricAccumulator> make_class_metrics(std::int64_t classes);
std::unique_ptr<MetricAccumulator> make_multilabel_metrics(std::int64_t classes);

}  // namespace sluice::tasks
