// What the nn tests share: blocks as edge lists and dense matrices, comparison in double.
#pragma once

#include "support/blocks.h"

#include <sluice/nn/layer_call.h>
#include <sluice/nn/tensor_view.h>

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace sluice::testing {

inline nn::LayerCall call_over(Block block) {
  return {{}, std::make_shared<const Block>(std::move(block)), RandomKey(7)};
}

inline torch::Tensor random_tensor(torch::IntArrayRef shape, std::uint64_t seed) {
  const torch::Tensor values = torch::empty(shape);
  const auto drawn = random_floats(values.numel(), seed);
  std::copy(drawn.begin(), drawn.end(), values.data_ptr<float>());
  return values;
}

/// The source and the target of each edge, i64.
struct EdgeEnds {
  torch::Tensor sources, targets;
};
inline EdgeEnds ends_of(const Block& block) {
  const torch::Tensor offsets = nn::as_tensor(block.offsets);
  const torch::Tensor degrees = offsets.slice(0, 1) - offsets.slice(0, 0, -1);
  return {nn::as_tensor(block.neighbours).to(torch::kInt64),
          torch::repeat_interleave(torch::arange(block.num_targets), degrees)};
}

/// How often each source is a neighbour of each target: f64 [targets, sources].
inline torch::Tensor dense(const Block& block) {
  const EdgeEnds ends = ends_of(block);
  return torch::zeros({block.num_targets, block.num_sources}, torch::kFloat64)
      .index_put_({ends.targets, ends.sources},
                  torch::ones(ends.sources.sizes(), torch::kFloat64),
                  /*accumulate=*/true);
}

/// As f64 leaves that want gradients.
inline torch::Tensor in_double(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kFloat64).requires_grad_();
}

inline void check_close(const torch::Tensor& got, const torch::Tensor& expected) {
  REQUIRE(got.sizes() == expected.sizes());
  if (got.numel() == 0) return;
  const double error =
      (got.detach().to(torch::kFloat64) - expected.detach()).abs().max().item<double>();
  CHECK(error < 1e-5 * (1 + expected.detach().abs().max().item<double>()));
}

}  // namespace sluice::testing
