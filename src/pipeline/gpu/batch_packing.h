// BatchPacking: where the arrays of a mini-batch lie in one slab, so that all of it goes to a GPU
// in one copy. The GPU's memory has the same layout, and behind it room for the features that the
// GPU gathers itself, from row addresses that are packed in their place.
#pragma once

#include <sluice/array.h>
#include <sluice/batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// Who brings a batch's features together.
enum class Gather { kHost, kGpu };

class BatchPacking {
 public:
  /// An array of features that is yet to come.
  struct Features {
    Array::Shape shape;
    std::uint64_t offset = 0;     ///< in the GPU's memory; with kHost in the slab too
    std::uint64_t addresses = 0;  ///< with kGpu: in both; u64 [shape[0]]
  };

  /// @param batch complete but for its features  @param shapes of those: [rows, columns]
  BatchPacking(const Batch& batch, const std::vector<Array::Shape>& shapes, Gather gather);

  std::uint64_t slab_bytes() const { return slab_bytes_; }
  std::uint64_t device_bytes() const { return device_bytes_; }
  const std::vector<Features>& features() const { return features_; }

  /// The place of the i-th features in the slab, or in the GPU's memory, as an array, which `owner`
  /// keeps alive.
  Array features_in(std::byte* memory,
                    std::size_t i,
                    MemorySpace space,
                    const std::shared_ptr<void>& owner) const;
  /// With kGpu: where the addresses of their rows go.
  std::span<std::uint64_t> addresses(std::size_t i, std::span<std::byte> slab) const;

  /// Copies all but features and addresses into the slab.
  void pack(const Batch& batch, std::span<std::byte> slab) const;

  /// The batch over the GPU's memory, which `owner` keeps alive; its features are as they were.
  Batch on_device(const Batch& batch,
                  std::byte* memory,
                  MemorySpace space,
                  const std::shared_ptr<void>& owner) const;

 private:
  std::uint64_t take(std::uint64_t bytes);

  std::vector<std::uint64_t> offsets_;  // of the arrays, in the order of for_each_array
  std::vector<Features> features_;      // in the order of the shapes
  std::uint64_t slab_bytes_ = 0;
  std::uint64_t device_bytes_ = 0;
};

}  // namespace sluice
