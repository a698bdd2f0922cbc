#include "tasks/merge_decoder.h"

#include <sluice/nn/precision.h>

namespace sluice::tasks {

MergeDecoder::MergeDecoder(std::int64_t width, std::int64_t hidden, RandomKey key)
    : width_(width),
      first_(register_module(
          "first",
          std::make_shared<nn::Linear>(2 * width, hidden, nn::Bias::kZero, key.with("first")))),
      second_(register_module(
          "second", std::make_shared<nn::Linear>(hidden, 1, nn::Bias::kZero, key.with("second")))) {
}

torch::Tensor MergeDecoder::second(const torch::Tensor& joined) const {
  return second_->forward(torch::relu(joined)).squeeze(-1);
}

torch::Tensor MergeDecoder::score(const torch::Tensor& sources,
                                  const torch::Tensor& destinations) const {
  return second(first_->forward(torch::cat({sources, destinations}, 1)));
}

torch::Tensor MergeDecoder::score_beside(const torch::Tensor& sources,
                                         const torch::Tensor& destinations) const {
  const std::int64_t count = sources.size(0), hidden = first_->out();
  if (count == 0) return torch::empty({0, 0}, sources.options());
  const torch::Tensor& weight = first_->weight();
  const torch::Tensor own =
      nn::linear(nn::Precision::kFloat32, sources, weight.narrow(1, 0, width_), first_->bias());
  const torch::Tensor others =
      nn::product(nn::Precision::kFloat32, destinations, weight.narrow(1, width_, width_));
  const torch::Tensor joined = others.view({count, -1, hidden}) + own.unsqueeze(1);
  return second(joined.view({-1, hidden})).view({count, -1});
}

}  // namespace sluice::tasks
