// Huge pages for large arrays: random reads of a graph's edges or of feature rows miss the TLB
// instead of the cache where pages are small, and fresh memory is zeroed 4 KiB a fault.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;

/// Asks for huge pages under the whole ones of [data, data + bytes), so that no byte more is
/// resident than the caller accounts for. A wish: refusing it costs speed only. Small memory is
/// left alone.
inline void wish_huge_pages(void* data, std::size_t bytes) {
  if (bytes < 2 * kHugePageBytes) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::size_t head = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  const std::size_t whole = (bytes - head) / kHugePageBytes * kHugePageBytes;
  (void)::madvise(static_cast<std::byte*>(data) + head, whole, MADV_HUGEPAGE);
}

}  // namespace sluice
