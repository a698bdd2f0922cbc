// MLP: the seeds' own features alone, no graph: the baseline that a GNN has to beat.
#pragma once

#include <sluice/models/stack.h>

namespace sluice::models {

class Mlp final : public Stack {
 public:
  struct Options {
    StackOptions stack;
    void describe(Schema& schema) { stack.describe(schema); }
  };
  Mlp(const Options& options, const ModelContext& context);

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch& batch) const override;

  std::vector<std::shared_ptr<nn::Linear>> linears_;
};

}  // namespace sluice::models
