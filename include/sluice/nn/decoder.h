// Decoder: a score a pair of rows: how likely a link is between what they encode.
#pragma once

#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

enum class DecoderKind {
  kDot,  ///< the dot product of both rows: nothing to learn, and both directions alike
  kMlp   ///< a network of one hidden layer over their elementwise product
};

class Decoder : public torch::nn::Module {
 public:
  /// Raw scores f32 [n]. @param sources, destinations f32 [n, width]
  virtual torch::Tensor score(const torch::Tensor& sources, const torch::Tensor& destinations) = 0;
};

/// @param width of the rows @param hidden of an MLP @param key of its initial weights
std::shared_ptr<Decoder> make_decoder(DecoderKind kind,
                                      std::int64_t width,
                                      std::int64_t hidden,
                                      RandomKey key);

}  // namespace sluice::nn
