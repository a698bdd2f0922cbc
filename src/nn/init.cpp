#include <sluice/nn/init.h>

#include <algorithm>
#include <cmath>

namespace sluice::nn {
namespace {

thread_local int shapes_alone = 0;  // scopes that live

}  // namespace

ShapesAlone::ShapesAlone() {
  ++shapes_alone;
}

ShapesAlone::~ShapesAlone() {
  --shapes_alone;
}

torch::Tensor zeros(torch::IntArrayRef shape) {
  return torch::zeros(shape, shapes_alone != 0 ? torch::kMeta : torch::kCPU);
}

torch::Tensor uniform(RandomKey key, torch::IntArrayRef shape, double bound) {
  if (shapes_alone != 0) return zeros(shape);
  torch::Tensor values = torch::empty(shape, torch::kFloat32);
  float* out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    out[i] = static_cast<float>((2 * key.uniform(static_cast<std::uint64_t>(i)) - 1) * bound);
  }
  return values;
}

torch::Tensor glorot(RandomKey key,
                     torch::IntArrayRef shape,
                     std::int64_t fan_in,
                     std::int64_t fan_out) {
  const auto fans = static_cast<double>(std::max<std::int64_t>(1, fan_in + fan_out));
  return uniform(key, shape, std::sqrt(6.0 / fans));
}

torch::Tensor kaiming(RandomKey key, torch::IntArrayRef shape, std::int64_t fan_in) {
  return uniform(
      key, shape, std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(1, fan_in))));
}

}  // namespace sluice::nn
