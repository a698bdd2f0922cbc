#include "pipeline/gpu/batch_packing.h"

#include "core/batch_fields.h"

#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t kAlignment = 256;  // of a GPU's widest loads, and of its allocations

std::uint64_t bytes_of(const Array::Shape& shape) {
  return static_cast<std::uint64_t>(shape[0] * shape[1]) * sizeof(float);
}

// All arrays of a batch but its features, in a fixed order.
template <class AnyBatch, class See>
void for_each_packed(AnyBatch& batch, const See& see) {
  for_each_array(batch, [&](auto& array, BatchPart part) {
    if (part != BatchPart::kFeatures) see(array);
  });
}

Array view(DType dtype,
           const Array::Shape& shape,
           std::byte* at,
           MemorySpace space,
           const std::shared_ptr<void>& owner) {
  return Array::adopt(
      dtype, shape, at, [owner](void*) {}, space);
}

}  // namespace

std::uint64_t BatchPacking::take(std::uint64_t bytes) {
  const std::uint64_t offset = device_bytes_;
  device_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

BatchPacking::BatchPacking(const Batch& batch,
                           const std::vector<Array::Shape>& shapes,
                           Gather gather) {
  for_each_packed(batch, [&](const Array& array) { offsets_.push_back(take(array.bytes())); });
  for (const Array::Shape& shape : shapes) {
    Features features{shape, 0, 0};
    if (gather == Gather::kHost) {
      features.offset = take(bytes_of(shape));
    } else {
      features.addresses = take(static_cast<std::uint64_t>(shape[0]) * sizeof(std::uint64_t));
    }
    features_.push_back(features);
  }
  slab_bytes_ = device_bytes_;
  for (Features& features : features_) {
    if (gather == Gather::kGpu) features.offset = take(bytes_of(features.shape));
  }
}

Array BatchPacking::features_in(std::byte* memory,
                                std::size_t i,
                                MemorySpace space,
                                const std::shared_ptr<void>& owner) const {
  return view(DType::kF32, features_[i].shape, memory + features_[i].offset, space, owner);
}

std::span<std::uint64_t> BatchPacking::addresses(std::size_t i, std::span<std::byte> slab) const {
  const Features& features = features_[i];
  return {reinterpret_cast<std::uint64_t*>(slab.data() + features.addresses),
          static_cast<std::size_t>(features.shape[0])};
}

void BatchPacking::pack(const Batch& batch, std::span<std::byte> slab) const {
  auto offset = offsets_.begin();
  for_each_packed(batch, [&](const Array& array) {
    if (!array.empty()) std::memcpy(slab.data() + *offset, array.raw().data(), array.bytes());
    ++offset;
  });
}

Batch BatchPacking::on_device(const Batch& batch,
                              std::byte* memory,
                              MemorySpace space,
                              const std::shared_ptr<void>& owner) const {
  Batch there = batch;  // its arrays are handles
  auto offset = offsets_.begin();
  for_each_packed(there, [&](Array& array) {
    if (!array.shape().empty())
      array = view(array.dtype(), array.shape(), memory + *offset, space, owner);
    ++offset;
  });
  return there;
}

}  // namespace sluice
