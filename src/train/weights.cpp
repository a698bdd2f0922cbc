#include "train/weights.h"

#include <sluice/nn/tensor_view.h>

namespace sluice {

namespace {

constexpr const char* kHead = "head.";

void collect_weights(NamedTensors& all,
                     const std::string& prefix,
                     const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters())
    all.emplace(prefix + item.key(), item.value().detach());
  for (const auto& item : module.named_buffers()) all.emplace(prefix + item.key(), item.value());
}

}  // namespace

NamedTensors weights_of(const Model& model, const Task& task) {
  NamedTensors all;
  collect_weights(all, "", model);
  if (const auto head = task.head()) collect_weights(all, kHead, *head);
  return all;
}

std::vector<std::pair<std::string, torch::Tensor>> parameters_of(const Model& model,
                                                                 const Task& task) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  const auto add = [&all](const std::string& prefix, const torch::nn::Module& module) {
    for (const auto& item : module.named_parameters())
      if (item.value().requires_grad()) all.emplace_back(prefix + item.key(), item.value());
  };
  add("", model);
  if (const auto head = task.head()) add(kHead, *head);
  return all;
}

NamedTensors clone_of(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) {
    copies.emplace(name, tensor.detach().to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true));
  }
  return copies;
}

void copy_into(const NamedTensors& to, const NamedTensors& from) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : to) {
    torch::Tensor target = tensor;
    target.copy_(from.at(name));
  }
}

void add_weights(Hasher& hasher, const NamedTensors& weights) {
  for (const auto& [name, tensor] : weights) {
    hasher.update(std::as_bytes(std::span(name)));
    const Array value = nn::as_array(tensor);
    hasher.update(value.raw());
  }
}

std::uint64_t weights_xxh3(const NamedTensors& weights) {
  Hasher hasher;
  add_weights(hasher, weights);
  return hasher.digest();
}

}  // namespace sluice
