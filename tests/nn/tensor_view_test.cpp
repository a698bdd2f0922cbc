#include "nn/support.h"

#include <sluice/nn/tensor_view.h>

using namespace sluice;
using namespace sluice::testing;

TEST_CASE("a tensor over an array shares its memory and keeps it alive") {
  torch::Tensor tensor;
  const void* data = nullptr;
  {
    Array array = array_of<std::int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
    tensor = nn::as_tensor(array);
    data = array.data();
  }
  CHECK(tensor.data_ptr() == data);
  CHECK(torch::equal(tensor, torch::tensor({{1, 2, 3}, {4, 5, 6}}, torch::kInt32)));
}

TEST_CASE("an array over a tensor shares its memory and keeps it alive") {
  Array array;
  const void* data = nullptr;
  {
    const torch::Tensor tensor = torch::arange(6, torch::kFloat32).view({2, 3});
    array = nn::as_array(tensor);
    data = tensor.data_ptr();
  }
  CHECK(array.data() == data);
  CHECK(array.shape() == Array::Shape{2, 3});
  CHECK(array.as<float>()[5] == 5);
}

TEST_CASE("an array over a strided or unaligned tensor is a copy") {
  const torch::Tensor tensor = torch::arange(6, torch::kFloat32).view({2, 3});
  const Array transposed = nn::as_array(tensor.t());
  CHECK(transposed.shape() == Array::Shape{3, 2});
  CHECK(transposed.as<float>()[1] == 3);
  const Array tail = nn::as_array(tensor.view({6}).narrow(0, 1, 5));
  CHECK(reinterpret_cast<std::uintptr_t>(tail.data()) % Array::kAlignment == 0);
  CHECK(tail.as<float>()[0] == 1);
}

TEST_CASE("every element type survives the way there and back") {
  for (const DType dtype : {DType::kF32,
                            DType::kF64,
                            DType::kF16,
                            DType::kBF16,
                            DType::kI8,
                            DType::kU8,
                            DType::kI32,
                            DType::kI64,
                            DType::kU32,
                            DType::kU64}) {
    const Array array = Array::make(dtype, {4}).or_throw();
    CHECK(nn::as_array(nn::as_tensor(array)).dtype() == dtype);
  }
  CHECK(nn::as_tensor(Array::make(DType::kI32, {0, 3}).or_throw()).sizes() ==
        torch::IntArrayRef({0, 3}));
}
