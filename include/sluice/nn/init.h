// Initial parameters from counter-based draws: a function of the key alone, not of a generator.
#pragma once

#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>

namespace sluice::nn {

/// While one lives, what this thread makes here has a shape and no memory (LibTorch's "meta"
/// tensors): a model is built that can be counted and not run.
class ShapesAlone {
 public:
  ShapesAlone();
  ShapesAlone(const ShapesAlone&) = delete;
  ShapesAlone& operator=(const ShapesAlone&) = delete;
  ~ShapesAlone();
};

/// For parameters that start at 0, f32.
torch::Tensor zeros(torch::IntArrayRef shape);

/// Uniform in (-bound, bound), f32, element i from draw i.
torch::Tensor uniform(RandomKey key, torch::IntArrayRef shape, double bound);

/// Uniform with the variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010).
torch::Tensor glorot(RandomKey key,
                     torch::IntArrayRef shape,
                     std::int64_t fan_in,
                     std::int64_t fan_out);

/// Uniform with the variance 2 / fan_in (He et al. 2015), for layers before a ReLU.
torch::Tensor kaiming(RandomKey key, torch::IntArrayRef shape, std::int64_t fan_in);

}  // namespace sluice::nn
