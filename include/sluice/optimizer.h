// Optimizer: turns gradients into new parameters. Its whole state is named tensors, so that a
// checkpoint can keep it and a resumed run goes on bit for bit. Used by one thread at a time.
#pragma once

#include <sluice/options.h>  // IWYU pragma: export

#include <torch/torch.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What an optimiser is built for: `Optimizer(Options, OptimizerContext)`.
struct OptimizerContext {
  /// By name, in the model's order. The optimiser shares the tensors and updates them in place.
  std::vector<std::pair<std::string, torch::Tensor>> parameters;
};

using NamedTensors = std::map<std::string, torch::Tensor>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update from the parameters' gradients; a parameter without a gradient is left as it is.
  virtual void step() = 0;
  /// Drops the gradients.
  virtual void zero_grad() = 0;

  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;

  /// Everything `step` depends on besides parameters, gradients, options and learning rate. The
  /// tensors are the optimiser's own: clone what must not change at the next step.
  virtual NamedTensors named_state() const = 0;
  /// Copies a state that `named_state` of an equal optimiser gave. Throws kData where names, shapes
  /// or types differ; the state is then unchanged.
  virtual void load_state(const NamedTensors& state) = 0;
};

}  // namespace sluice
