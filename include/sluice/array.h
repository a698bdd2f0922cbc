// Array: an owning, contiguous, 64-byte aligned block of elements with a shape. What a Batch is
// made of.
//
// Torch-free and DLPack-shaped (dtype, shape, row-major, no strides), so that a tensor may stand
// over it without a copy (sluice/nn/tensor_view.h). A handle shares its storage with its copies, as
// a tensor does; storage is charged to a ledger when one is given. Alignment never depends on where
// the data came from: that keeps results bit-identical.
#pragma once

#include <sluice/dtype.h>
#include <sluice/memory.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// Whose memory an array lies in. Only the host's may be read and written by the host.
enum class MemorySpace : std::uint8_t { kHost, kCuda };

class Array {
 public:
  static constexpr std::size_t kAlignment = 64;
  using Shape = std::vector<std::int64_t>;

  Array() = default;

  /// A new array of undefined content. Fails with kResource when the ledger (or the machine) has no
  /// room.
  static Result<Array> make(DType dtype,
                            Shape shape,
                            MemoryLedger* ledger = nullptr,
                            std::string_view name = "arrays");

  /// Takes over memory that somebody else allocated (pinned, mapped, a device's); `release` is
  /// called once, from any thread.
  /// @pre data is aligned to kAlignment.
  static Array adopt(DType dtype,
                     Shape shape,
                     void* data,
                     std::function<void(void*)> release,
                     MemorySpace space = MemorySpace::kHost);

  DType dtype() const noexcept { return dtype_; }
  MemorySpace space() const noexcept { return space_; }
  const Shape& shape() const noexcept { return shape_; }
  /// Throws std::out_of_range beyond the shape: an empty array may have none.
  std::int64_t size(std::size_t dimension) const { return shape_.at(dimension); }
  /// Number of elements.
  std::int64_t numel() const noexcept { return numel_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
  bool empty() const noexcept { return numel_ == 0; }

  void* data() noexcept { return data_.get(); }
  const void* data() const noexcept { return data_.get(); }

  /// Its elements. @pre dtype() is that of T, and space() the host's
  template <class T>
  std::span<T> as() {
    assert(dtype_of<T> == dtype_);
    return {static_cast<T*>(data_.get()), static_cast<std::size_t>(numel_)};
  }
  template <class T>
  std::span<const T> as() const {
    assert(dtype_of<T> == dtype_);
    return {static_cast<const T*>(data_.get()), static_cast<std::size_t>(numel_)};
  }

  std::span<std::byte> raw() { return {static_cast<std::byte*>(data_.get()), bytes()}; }
  std::span<const std::byte> raw() const {
    return {static_cast<const std::byte*>(data_.get()), bytes()};
  }

  /// Keeps the storage alive for a view made by somebody else (a tensor).
  std::shared_ptr<void> storage() const { return data_; }

 private:
  DType dtype_ = DType::kF32;
  MemorySpace space_ = MemorySpace::kHost;
  Shape shape_;
  std::int64_t numel_ = 0;
  std::shared_ptr<void> data_;
};

}  // namespace sluice
