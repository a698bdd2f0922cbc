#include "core/spare_blocks.h"

#include <cstdlib>
#include <iterator>

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

MemoryBlock SpareBlocks::take(std::uint64_t bytes) {
  auto best = blocks_.rend();
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (block->bytes < bytes || block->bytes > bytes + bytes / 8) continue;
    if (best == blocks_.rend() || block->bytes < best->bytes) best = block;
  }
  if (best == blocks_.rend()) return {};
  const MemoryBlock block = *best;
  blocks_.erase(std::next(best).base());
  bytes_ -= block.bytes;
  SLUICE_ALLOW(block.data, block.bytes);
  return block;
}

void SpareBlocks::keep(const MemoryBlock& block) {
  blocks_.push_back(block);
  bytes_ += block.bytes;
  SLUICE_FORBID(block.data, block.bytes);
}

void SpareBlocks::shrink(std::uint64_t most) noexcept {
  while (bytes_ > most) {
    const MemoryBlock oldest = blocks_.front();
    blocks_.pop_front();
    bytes_ -= oldest.bytes;
    SLUICE_ALLOW(oldest.data, oldest.bytes);
    std::free(oldest.data);
  }
}

}  // namespace sluice
