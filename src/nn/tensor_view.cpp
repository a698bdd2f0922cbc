#include <sluice/nn/tensor_view.h>

#include <sluice/error.h>

#include <cstdint>
#include <string>

namespace sluice::nn {

torch::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return torch::kFloat32;
    case DType::kF64:
      return torch::kFloat64;
    case DType::kF16:
      return torch::kFloat16;
    case DType::kBF16:
      return torch::kBFloat16;
    case DType::kI8:
      return torch::kInt8;
    case DType::kU8:
      return torch::kUInt8;
    case DType::kI16:
      return torch::kInt16;
    case DType::kU16:
      return torch::kUInt16;
    case DType::kI32:
      return torch::kInt32;
    case DType::kI64:
      return torch::kInt64;
    case DType::kU32:
      return torch::kUInt32;
    case DType::kU64:
      return torch::kUInt64;
  }
  throw Error(ErrorCode::kInternal, "an element type without a tensor type");
}

DType dtype_of_tensor(const torch::Tensor& tensor) {
  for (const DType dtype : {DType::kF32,
                            DType::kF64,
                            DType::kF16,
                            DType::kBF16,
                            DType::kI8,
                            DType::kU8,
                            DType::kI16,
                            DType::kU16,
                            DType::kI32,
                            DType::kI64,
                            DType::kU32,
                            DType::kU64}) {
    if (scalar_type(dtype) == tensor.scalar_type()) return dtype;
  }
  throw Error(ErrorCode::kInternal,
              std::string("no array holds elements of ") + torch::toString(tensor.scalar_type()));
}

torch::Device device_of(MemorySpace space) {
  // One GPU a process: which one it is, is the environment's choice (CUDA_VISIBLE_DEVICES).
  if (space == MemorySpace::kCuda) return {torch::kCUDA, 0};
  return torch::kCPU;
}

torch::Tensor as_tensor(const Array& array) {
  const auto options =
      torch::TensorOptions().dtype(scalar_type(array.dtype())).device(device_of(array.space()));
  if (array.empty()) return torch::empty(array.shape(), options);
  // A tensor over const memory does not exist; the contract says that nobody writes.
  return torch::from_blob(
      const_cast<void*>(array.data()), array.shape(), [keep = array.storage()](void*) {}, options);
}

Array as_array(const torch::Tensor& tensor) {
  torch::Tensor whole = tensor.detach().cpu().contiguous();
  if (reinterpret_cast<std::uintptr_t>(whole.data_ptr()) % Array::kAlignment != 0) {
    whole = whole.clone();  // LibTorch's own allocations are aligned; views into them may not be
  }
  return Array::adopt(
      dtype_of_tensor(whole), whole.sizes().vec(), whole.data_ptr(), [whole](void*) {});
}

}  // namespace sluice::nn
