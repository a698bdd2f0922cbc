// k-means, and how well clusters agree with classes. Pure functions; thread-safe.
#pragma once

#include "probe/probe.h"

#include <torch/torch.h>

#include <cstdint>

namespace sluice::probe {

struct Clusters {
  torch::Tensor of_row;  ///< i64 [n], below the number of clusters
  double inertia = 0;    ///< sum of the squared distances of rows to their cluster's mean
};

/// Lloyd's iterations from ten starts of greedy k-means++ (Arthur and Vassilvitskii 2007, with
/// 2 + ln(clusters) candidates for each next mean, as in scikit-learn), until no row changes its
/// cluster or 300 of them are done; of the starts the one of least inertia. A cluster that loses
/// all rows takes the row that is farthest from its own mean.
/// @param rows f32 [n, d], finite @pre 0 < clusters <= n
Clusters k_means(const torch::Tensor& rows, std::int64_t clusters, RandomKey key);

/// @param clusters, classes i64 [n], not negative. Both figures are 1 where both put all rows
/// together
ClusterScores agreement(const torch::Tensor& clusters, const torch::Tensor& classes);

}  // namespace sluice::probe
