// AlignedBuffer: page-aligned memory for O_DIRECT and registered I/O, charged to the ledger.
//
// Anonymous mmap, so zero-filled and given back to the system at once. Buffers of 2 MiB and more
// ask for huge pages. Move-only; shared between a reader and its engine through shared_ptr, so that
// memory a stalled device may still write to is never freed under it.
#pragma once

#include "core/host_pinning.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kPageBytes = 4096;

constexpr std::uint64_t round_up_to_page(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  /// Rounds `bytes` up to whole pages. Fails with kResource when the ledger or the system has no
  /// room. @param device that reads from it too, or null
  static Result<AlignedBuffer> make(std::uint64_t bytes,
                                    MemoryLedger* ledger,
                                    std::string_view name,
                                    std::shared_ptr<HostPinning> device = nullptr);

  /// Gives back all but the first `bytes`, whole pages; those stay as they are, charged by another
  /// name. @pre no device knows it, and nothing goes on with the rest
  void shrink(std::uint64_t bytes, std::string_view name);

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Whether the device that it was made for knows it.
  bool pinned() const noexcept { return pinned_.held(); }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Charge charge_;
  Pinned pinned_;
};

}  // namespace sluice
