#include "probe/clusters.h"

#include "nn/one_thread.h"
#include "probe/logistic.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr std::uint64_t kStarts = 10;
constexpr int kMaxIterations = 300;
constexpr std::int64_t kTileRows = 16384;  // whose distances to all means are held at a time

// Calls work(first, rows) for rows in order, a tile at a time.
template <class Work>
void for_tiles(const Tensor& rows, const Work& work) {
  for (std::int64_t first = 0; first < rows.size(0); first += kTileRows)
    work(first, rows.narrow(0, first, std::min(kTileRows, rows.size(0) - first)));
}

// One run of k-means over rows whose mean is 0, which keeps the products below precise.
class Lloyd {
 public:
  Lloyd(const Tensor& rows, std::int64_t clusters, RandomKey key)
      : rows_(rows),
        squares_(torch::empty({rows.size(0)}, torch::kFloat32)),
        means_(torch::empty({clusters, rows.size(1)}, torch::kFloat32)),
        of_row_(torch::full({rows.size(0)}, -1, torch::kInt64)),
        distances_(torch::empty({rows.size(0)}, torch::kFloat32)) {
    for_tiles(rows_, [this](std::int64_t first, const Tensor& tile) {
      squares_.narrow(0, first, tile.size(0)).copy_(tile.square().sum(1));
    });
    begin(key);
  }

  Clusters run() {
    assign();
    for (int i = 0; i < kMaxIterations; ++i) {
      take_means();
      if (!assign()) break;
    }
    return {of_row_, distances_.to(torch::kFloat64).sum().item<double>()};
  }

 private:
  /// Greedy k-means++: rows are drawn by their squared distance to the nearest mean so far, and the
  /// one that leaves the least inertia, of equals the first, is the next mean.
  void begin(RandomKey key) {
    const auto rows = static_cast<std::uint64_t>(rows_.size(0));
    const auto first = static_cast<std::int64_t>(key.below(rows, 0));
    means_[0].copy_(rows_[first]);
    Tensor nearest = distances_to(first);
    const std::int64_t candidates =
        2 + static_cast<std::int64_t>(std::log(static_cast<double>(means_.size(0))));
    for (std::int64_t c = 1; c < means_.size(0); ++c) {
      const Tensor sums = nearest.to(torch::kFloat64).cumsum(0);
      Tensor least;
      double least_inertia = 0;
      for (std::int64_t i = 0; i < candidates; ++i) {
        const auto draw = static_cast<std::uint64_t>(c * candidates + i);
        const std::int64_t row = drawn_by(sums, key.uniform(draw));
        Tensor left = torch::minimum(nearest, distances_to(row));
        const double inertia = left.to(torch::kFloat64).sum().item<double>();
        if (least.defined() && !(inertia < least_inertia)) continue;
        means_[c].copy_(rows_[row]);
        least = std::move(left);
        least_inertia = inertia;
      }
      nearest = std::move(least);
    }
  }

  /// f32 [n], squared.
  Tensor distances_to(std::int64_t row) const {
    Tensor distances = torch::empty({rows_.size(0)}, torch::kFloat32);
    for_tiles(rows_, [&](std::int64_t first, const Tensor& tile) {
      distances.narrow(0, first, tile.size(0)).copy_((tile - rows_[row]).square().sum(1));
    });
    return distances;
  }

  /// The row at a share of the sum of all weights, whose running sums are given; where all are 0 by
  /// number.
  static std::int64_t drawn_by(const Tensor& sums, double share) {
    const double sum = sums[-1].item<double>();
    const std::int64_t last = sums.size(0) - 1;
    if (!(sum > 0))
      return std::min(last, static_cast<std::int64_t>(share * static_cast<double>(last + 1)));
    const double* const begin = sums.const_data_ptr<double>();
    const double* const found = std::upper_bound(begin, begin + sums.size(0), share * sum);
    return std::min<std::int64_t>(last, found - begin);
  }

  /// Gives each row its nearest mean, of equals the first; whether any changed.
  bool assign() {
    const Tensor mean_squares = means_.square().sum(1);
    bool changed = false;
    auto* const clusters = of_row_.data_ptr<std::int64_t>();
    auto* const distances = distances_.data_ptr<float>();
    for_tiles(rows_, [&](std::int64_t first, const Tensor& tile) {
      const Tensor apart = torch::addmm(mean_squares, tile, means_.t(), 1, -2).contiguous();
      const float* at = apart.const_data_ptr<float>();
      const float* const squares = squares_.const_data_ptr<float>() + first;
      for (std::int64_t i = 0; i < tile.size(0); ++i, at += means_.size(0)) {
        const float* const nearest = std::min_element(at, at + means_.size(0));
        changed = changed || clusters[first + i] != nearest - at;
        clusters[first + i] = nearest - at;
        distances[first + i] = std::max(0.0f, squares[i] + *nearest);
      }
    });
    return changed;
  }

  void take_means() {
    const std::int64_t count = means_.size(0);
    Tensor sums = torch::zeros({count, rows_.size(1)}, torch::kFloat64);
    for_tiles(rows_, [&](std::int64_t first, const Tensor& tile) {
      Tensor of_tile = torch::zeros_like(means_);
      of_tile.index_add_(0, of_row_.narrow(0, first, tile.size(0)), tile);
      sums += of_tile;
    });
    const Tensor sizes = torch::bincount(of_row_, {}, count);
    means_.copy_(sums / sizes.clamp_min(1).unsqueeze(1));
    for (std::int64_t c = 0; c < count; ++c) {
      if (sizes[c].item<std::int64_t>() != 0) continue;
      const auto* const begin = distances_.const_data_ptr<float>();
      const auto far = std::max_element(begin, begin + rows_.size(0)) - begin;
      means_[c].copy_(rows_[far]);
      distances_[far] = 0;  // the next empty cluster takes another
    }
  }

  Tensor rows_, squares_, means_, of_row_, distances_;
};

// How often each pair of a cluster and a class comes together, and each by itself.
struct Contingency {
  std::vector<double> together, clusters, classes;
  double rows = 0;
};

Contingency contingency(const Tensor& clusters, const Tensor& classes) {
  const std::int64_t num_clusters = clusters.max().item<std::int64_t>() + 1;
  const std::int64_t num_classes = classes.max().item<std::int64_t>() + 1;
  Contingency counts{std::vector<double>(static_cast<std::size_t>(num_clusters * num_classes)),
                     std::vector<double>(static_cast<std::size_t>(num_clusters)),
                     std::vector<double>(static_cast<std::size_t>(num_classes)),
                     static_cast<double>(clusters.size(0))};
  const auto a = clusters.accessor<std::int64_t, 1>(), b = classes.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < clusters.size(0); ++i) {
    ++counts.together[static_cast<std::size_t>(a[i] * num_classes + b[i])];
    ++counts.clusters[static_cast<std::size_t>(a[i])];
    ++counts.classes[static_cast<std::size_t>(b[i])];
  }
  return counts;
}

double entropy(const std::vector<double>& counts, double rows) {
  double sum = 0;
  for (const double count : counts)
    if (count > 0) sum -= count / rows * std::log(count / rows);
  return sum;
}

// H(U) + H(V) - H(U, V) is the information that both share.
double normalised_information(const Contingency& counts) {
  const double both = entropy(counts.clusters, counts.rows) + entropy(counts.classes, counts.rows);
  if (both == 0) return 1;
  return std::max(0.0, both - entropy(counts.together, counts.rows)) / (both / 2);
}

double pairs(const std::vector<double>& counts) {
  double sum = 0;
  for (const double count : counts) sum += count * (count - 1) / 2;
  return sum;
}

double adjusted_rand(const Contingency& counts) {
  const double together = pairs(counts.together);
  const double in_clusters = pairs(counts.clusters), in_classes = pairs(counts.classes);
  const double all = counts.rows * (counts.rows - 1) / 2;
  if (together == in_clusters && together == in_classes) return 1;
  const double expected = in_clusters * in_classes / all;
  return (together - expected) / ((in_clusters + in_classes) / 2 - expected);
}

}  // namespace

Clusters k_means(const Tensor& rows, std::int64_t clusters, RandomKey key) {
  const nn::OneThread one_thread;
  const torch::NoGradGuard no_gradients;
  const Tensor centred = (rows - rows.mean(0, /*keepdim=*/true)).contiguous();
  Clusters best;
  for (std::uint64_t start = 0; start < kStarts; ++start) {
    Clusters found = Lloyd(centred, clusters, key.with("k-means").with(start)).run();
    if (!best.of_row.defined() || found.inertia < best.inertia) best = std::move(found);
  }
  return best;
}

ClusterScores agreement(const Tensor& clusters, const Tensor& classes) {
  const Contingency counts = contingency(clusters, classes);
  return {normalised_information(counts), adjusted_rand(counts)};
}

ClusterScores cluster_scores(const Tensor& rows,
                             const Tensor& labels,
                             std::int64_t clusters,
                             RandomKey key) {
  check_rows(rows);
  if (!labels.defined() || labels.dim() != 1 || labels.scalar_type() != torch::kInt64 ||
      labels.size(0) != rows.size(0))
    throw Error(ErrorCode::kUsage,
                fmt::format("clusters of {} rows are compared with as many classes", rows.size(0)),
                "give labels as i64 [n], -1 for none");
  const Tensor known = labels.ge(0).nonzero().flatten();
  if (clusters < 1 || clusters > known.size(0))
    throw Error(ErrorCode::kData,
                fmt::format("{} clusters of {} labelled rows", clusters, known.size(0)),
                "there may be as many clusters as labelled rows at most, and one at least");
  const Clusters found = k_means(rows.detach().index_select(0, known), clusters, key);
  return agreement(found.of_row, labels.index_select(0, known));
}

}  // namespace sluice::probe
