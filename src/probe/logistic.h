// What the probes share: a linear layer trained by Adam over the full batch, and the checks of what
// they are given. Within the room; one thread at a time uses a regression.
#pragma once

#include "probe/probe.h"

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sluice::probe {

/// x W^T + b, [n, out].
struct LinearLayer {
  torch::Tensor weight;  ///< f32 [out, d]
  torch::Tensor bias;    ///< f32 [out]

  torch::Tensor scores(const torch::Tensor& x) const { return torch::addmm(bias, x, weight.t()); }
};

/// Trains `layer`, which is changed in place, and returns the copy with the greatest `quality`, the
/// first of equals; the last where no quality is a number.
/// @param x f32 [n, d] @param loss of scores [n, out] @param quality of the layer after a step
LinearLayer train_layer(LinearLayer layer,
                        const torch::Tensor& x,
                        const std::function<torch::Tensor(const torch::Tensor&)>& loss,
                        const std::function<double(const LinearLayer&)>& quality,
                        const LinearProbeOptions& options);

/// Throws kUsage unless `rows` is an f32 matrix on the host, kData where a value is not finite.
void check_rows(const torch::Tensor& rows);

/// Throws kUsage unless `numbers` are i64 and each below `bound`. @param what for messages
void check_numbers(const torch::Tensor& numbers, std::int64_t bound, const std::string& what);

}  // namespace sluice::probe
