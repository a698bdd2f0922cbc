#include "nn/optim/slot_optimizer.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <sstream>

namespace sluice::nn {
namespace {

constexpr const char* kStepName = "step";

std::string shape_text(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes() << ' ' << torch::toString(tensor.scalar_type());
  return text.str();
}

void check_same_state(const NamedTensors& own, const NamedTensors& other) {
  for (const auto& [name, tensor] : own) {
    const auto found = other.find(name);
    if (found == other.end()) {
      throw Error(ErrorCode::kData, fmt::format("the optimizer state has no '{}'", name));
    }
    if (found->second.sizes() != tensor.sizes() ||
        found->second.scalar_type() != tensor.scalar_type()) {
      throw Error(ErrorCode::kData,
                  fmt::format("the optimizer state '{}' is {}, expected {}",
                              name,
                              shape_text(found->second),
                              shape_text(tensor)));
    }
  }
  for (const auto& [name, tensor] : other) {
    if (own.find(name) == own.end()) {
      throw Error(ErrorCode::kData,
                  fmt::format("the optimizer state '{}' belongs to no parameter here", name));
    }
  }
}

}  // namespace

SlotOptimizer::SlotOptimizer(const OptimizerContext& context,
                             double learning_rate,
                             std::vector<std::string> state_names)
    : learning_rate_(learning_rate),
      state_names_(std::move(state_names)),
      num_steps_(torch::zeros({}, torch::kInt64)) {
  for (const auto& [name, parameter] : context.parameters) {
    Slot slot{name, parameter, {}};
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      slot.state.push_back(torch::zeros_like(parameter.detach()));
    }
    slots_.push_back(std::move(slot));
  }
}

void SlotOptimizer::step() {
  const torch::NoGradGuard no_grad;
  num_steps_ += 1;
  const auto step = num_steps_.item<std::int64_t>();
  for (Slot& slot : slots_) {
    const torch::Tensor gradient = slot.parameter.grad();
    if (gradient.defined()) update(slot.parameter, gradient, slot.state, step);
  }
}

void SlotOptimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

NamedTensors SlotOptimizer::named_state() const {
  NamedTensors state{{kStepName, num_steps_}};
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      state.emplace(slot.name + "/" + state_names_[i], slot.state[i]);
    }
  }
  return state;
}

void SlotOptimizer::load_state(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  NamedTensors own = named_state();
  check_same_state(own, state);
  for (auto& [name, tensor] : own) tensor.copy_(state.at(name));
}

}  // namespace sluice::nn
