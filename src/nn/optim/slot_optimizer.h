// SlotOptimizer: what optimisers with a few tensors a parameter and a step count have in common.
#pragma once

#include <sluice/optimizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::nn {

class SlotOptimizer : public Optimizer {
 public:
  void step() final;
  void zero_grad() final;
  double learning_rate() const final { return learning_rate_; }
  void set_learning_rate(double rate) final { learning_rate_ = rate; }
  NamedTensors named_state() const final;
  void load_state(const NamedTensors& state) final;

 protected:
  /// @param state_names of the tensors kept for each parameter; they have its shape and start at 0.
  SlotOptimizer(const OptimizerContext& context,
                double learning_rate,
                std::vector<std::string> state_names);

  /// One parameter's update, without autograd. @param step 1 for the first
  virtual void update(torch::Tensor& parameter,
                      const torch::Tensor& gradient,
                      std::vector<torch::Tensor>& state,
                      std::int64_t step) = 0;

 private:
  struct Slot {
    std::string name;
    torch::Tensor parameter;
    std::vector<torch::Tensor> state;
  };

  double learning_rate_;
  std::vector<std::string> state_names_;
  std::vector<Slot> slots_;
  torch::Tensor num_steps_;  ///< i64 scalar
};

}  // namespace sluice::nn
