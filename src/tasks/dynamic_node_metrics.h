// The metrics of dynamic node classification, from class scores of nodes at times.
//
// - ndcg@10: how high the classes that a node is of stand among all, by its label's shares. The
//   mean over the nodes of a label time, then over label times, as TGB's node tasks have it (Huang
//   et al., NeurIPS 2023).
// - accuracy, where edges have classes: the share of labels whose largest class scores best; of
//   several that are the largest, or the best, the first.
// - loss: cross-entropy of softmax scores against the shares, its mean over labels.
#pragma once

#include "tasks/dynamic_node_labels.h"

#include <sluice/task.h>

#include <cstddef>
#include <memory>
#include <span>

namespace sluice::tasks {

/// Discounted cumulative gain among the first `first` places, each gain over log2(place + 1), by
/// that of the best order (Jarvelin and Kekalainen, TOIS 2002); equal scores share their places'
/// discounts alike, as scikit-learn's ndcg_score has it. 0 where no gain is above 0.
/// @param gains [classes], none negative @param scores [classes], finite
double ndcg(std::span<const double> gains, std::span<const double> scores, std::size_t first);

enum class LabelAccuracy { kLeftOut, kMeasured };

/// Of queries as LabelQueries makes them. @param labels null, before there are some: names alone
std::unique_ptr<MetricAccumulator> make_dynamic_node_metrics(
    std::shared_ptr<const NodeLabels> labels, LabelAccuracy accuracy);

}  // namespace sluice::tasks
