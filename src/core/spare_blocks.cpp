#include "core/spare_blocks.h"

#include <algorithm>
#include <cstdlib>

// To a sanitizer a kept block is as good as freed.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define SLUICE_FORBID(data, bytes) __asan_poison_memory_region(data, bytes)
#define SLUICE_ALLOW(data, bytes) __asan_unpoison_memory_region(data, bytes)
#else
#define SLUICE_FORBID(data, bytes) ((void)0)
#define SLUICE_ALLOW(data, bytes) ((void)0)
#endif

namespace sluice {

void* SpareBlocks::take(std::uint64_t bytes) {
  const auto found = std::find_if(
      blocks_.rbegin(), blocks_.rend(), [&](const Block& block) { return block.bytes == bytes; });
  if (found == blocks_.rend()) return nullptr;
  void* data = found->data;
  blocks_.erase(std::next(found).base());
  bytes_ -= bytes;
  SLUICE_ALLOW(data, bytes);
  return data;
}

void SpareBlocks::keep(void* block, std::uint64_t bytes) {
  blocks_.push_back({block, bytes});
  bytes_ += bytes;
  SLUICE_FORBID(block, bytes);
}

void SpareBlocks::shrink(std::uint64_t most) noexcept {
  while (bytes_ > most) {
    const Block oldest = blocks_.front();
    blocks_.pop_front();
    bytes_ -= oldest.bytes;
    SLUICE_ALLOW(oldest.data, oldest.bytes);
    std::free(oldest.data);
  }
}

}  // namespace sluice
