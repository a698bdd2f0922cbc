// LabelHead: class scores from a node's row at a time, by a network of one hidden layer, which may
// see the node's past labels too.
#pragma once

#include <sluice/nn/linear.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::tasks {

struct LabelHeadOptions {
  std::int64_t width = 64;  ///< of rows
  std::int64_t past = 0;    ///< columns of past labels behind them; 0: none
  std::int64_t hidden = 64;
  std::int64_t classes = 2;
};

class LabelHead : public torch::nn::Module {
 public:
  LabelHead(const LabelHeadOptions& options, RandomKey key);

  /// f32 [n, classes]. @param rows f32 [n, width] @param past f32 [n, past]; undefined without
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& past) const;

 private:
  std::shared_ptr<nn::Linear> first_, second_;
};

}  // namespace sluice::tasks
