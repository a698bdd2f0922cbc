// Tensors over Arrays and back, without a copy. Each keeps the other's storage alive.
#pragma once

#include <sluice/array.h>

#include <torch/torch.h>

namespace sluice::nn {

torch::ScalarType scalar_type(DType dtype);
/// Throws kInternal for an element type that arrays do not have.
DType dtype_of_tensor(const torch::Tensor& tensor);

torch::Device device_of(MemorySpace space);

/// A tensor over the array's memory, on its device. Batches are immutable: it must not be written
/// to.
torch::Tensor as_tensor(const Array& array);

/// An array over the tensor's memory; over a copy where the tensor is not contiguous or not aligned
/// as arrays are, or lies on a device.
Array as_array(const torch::Tensor& tensor);

}  // namespace sluice::nn
