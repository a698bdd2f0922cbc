#include "nn/mean_through.h"

#include <sluice/nn/block_ops.h>

#include <algorithm>

namespace sluice::nn {

torch::Tensor mean_through(const LayerCall& over,
                           Precision precision,
                           const torch::Tensor& weight,
                           const PendingRows& x) {
  const Block& block = *over.block;
  const torch::Tensor degrees = sampled_degrees(block), mean = degrees.clamp_min(1).reciprocal();
  const AggregationShape shape{
      block.num_sources, block.num_targets, block.num_edges(), weight.size(1), weight.size(0)};
  if (!x.pending() && transform_first(shape))
    return sum_neighbours(over, product(precision, x.rows(), weight), {}, mean);
  return x.through(precision,
                   weight,
                   sum_neighbours(over, x.rows(), {}, mean),
                   degrees.clamp_max(1).unsqueeze(1));
}

void MapOrder::add(const Block& block, std::int64_t sums, std::int64_t out) {
  const std::int64_t before = rows_->columns_before(), behind = rows_->columns();
  AggregationShape shape{
      block.num_sources, block.num_targets, block.num_edges(), sums * behind, out};
  // Rows are mapped once, whatever the number of relations that read them.
  if (maps_ == 0) maps_ = shape.sources * before * behind;
  maps_ += sums == 1 ? std::min(shape.transformed_first(), shape.aggregated_first())
                     : shape.aggregated_first();
  shape.in = sums * before;
  sums_ += shape.aggregated_first();
}

}  // namespace sluice::nn
