// A model's weights by name: all parameters and buffers, in name order.
#pragma once

#include <sluice/model.h>
#include <sluice/optimizer.h>

#include <cstdint>

namespace sluice {

/// The tensors themselves, shared with the model.
NamedTensors weights_of(const Model& model);

/// Copies, on the host.
NamedTensors clone_of(const NamedTensors& tensors);

/// Writes `from` into `to`. @pre same names, shapes and types
void copy_into(const NamedTensors& to, const NamedTensors& from);

/// XXH3-64 over names and bytes, in name order: equal for equal weights.
std::uint64_t weights_xxh3(const NamedTensors& weights);

}  // namespace sluice
