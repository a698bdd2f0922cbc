// MergeDecoder: the score of an event between two rows by a network of one hidden layer over both
// end to end, as TGAT (Xu et al., ICLR 2020) and TGN (Rossi et al., 2020) have it.
#pragma once

#include <sluice/nn/linear.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::tasks {

class MergeDecoder : public torch::nn::Module {
 public:
  MergeDecoder(std::int64_t width, std::int64_t hidden, RandomKey key);

  /// A raw score a pair. @param sources f32 [n, width] @param destinations f32 [n, width]
  torch::Tensor score(const torch::Tensor& sources, const torch::Tensor& destinations) const;
  /// Each source beside several destinations: f32 [n, k], the same numbers as score() but for
  /// rounding; the sources' half of the first layer is computed once. @param destinations f32
  /// [n * k, width]
  torch::Tensor score_beside(const torch::Tensor& sources, const torch::Tensor& destinations) const;

 private:
  torch::Tensor second(const torch::Tensor& joined) const;

  std::int64_t width_;
  std::shared_ptr<nn::Linear> first_, second_;
};

}  // namespace sluice::tasks
