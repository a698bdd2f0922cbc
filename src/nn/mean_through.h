// A mean over sampled in-edges and a matrix, in the order that takes less: what a layer does with a
// relation's edges.
#pragma once

#include <sluice/nn/layer_call.h>
#include <sluice/nn/pending_rows.h>
#include <sluice/nn/precision.h>

#include <torch/torch.h>

#include <cstdint>

namespace sluice::nn {

/// @param weight [out, x.columns()]
/// @return [targets, out]: 0 for a target without edges
torch::Tensor mean_through(const LayerCall& over,
                           Precision precision,
                           const torch::Tensor& weight,
                           const PendingRows& x);

/// What a layer takes over all blocks that read a type's rows, as AggregationShape counts, whether
/// rows are mapped before they are summed or sums are.
class MapOrder {
 public:
  explicit MapOrder(const PendingRows& rows) : rows_(&rows) {}

  /// A block that reads them. @param sums a target, each of its own weights; through a matrix to
  /// `out` columns
  void add(const Block& block, std::int64_t sums, std::int64_t out);
  bool sums_first() const { return sums_ < maps_; }

 private:
  const PendingRows* rows_;
  std::int64_t maps_ = 0, sums_ = 0;
};

}  // namespace sluice::nn
