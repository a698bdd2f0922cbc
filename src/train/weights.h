// What a run learns, by name: all parameters and buffers of its model, and of its task's head by
// names below "head.", in name order.
#pragma once

#include "core/hash.h"

#include <sluice/model.h>
#include <sluice/optimizer.h>
#include <sluice/task.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// The tensors themselves, shared with model and task.
NamedTensors weights_of(const Model& model, const Task& task);

/// What gets gradients, in the order of the modules.
std::vector<std::pair<std::string, torch::Tensor>> parameters_of(const Model& model,
                                                                 const Task& task);

/// Copies, on the host.
NamedTensors clone_of(const NamedTensors& tensors);

/// Writes `from` into `to`. @pre same names, shapes and types
void copy_into(const NamedTensors& to, const NamedTensors& from);

/// Adds names and bytes, in name order.
void add_weights(Hasher& hasher, const NamedTensors& weights);
/// XXH3-64 over names and bytes, in name order: equal for equal weights.
std::uint64_t weights_xxh3(const NamedTensors& weights);

}  // namespace sluice
