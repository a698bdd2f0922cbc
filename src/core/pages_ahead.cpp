#include "core/pages_ahead.h"

#include "core/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kPiece = 4 * kHugePageBytes;
constexpr std::size_t kStop = std::numeric_limits<std::size_t>::max();

bool populate([[maybe_unused]] std::span<std::byte> memory) {
#if defined(MADV_POPULATE_WRITE)
  return ::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

}  // namespace

PagesAhead::PagesAhead(std::span<std::byte> memory)
    : memory_(memory), thread_([this] { make_pages(); }) {}

PagesAhead::~PagesAhead() {
  wanted_ = kStop;
  wanted_.notify_one();
  thread_.join();
}

void PagesAhead::want(std::size_t bytes) {
  if (bytes <= wanted_) return;
  wanted_ = std::min(bytes, memory_.size());
  wanted_.notify_one();
}

void PagesAhead::make_pages() {
  std::size_t made = 0;
  while (made < memory_.size()) {
    const std::size_t wanted = wanted_;
    if (wanted == kStop) return;
    if (made >= wanted) {
      wanted_.wait(wanted);
      continue;
    }
    const std::size_t piece = std::min(memory_.size() - made, kPiece);
    // A system that refuses once would refuse again.
    if (!populate(memory_.subspan(made, piece))) return;
    made += piece;
  }
}

}  // namespace sluice
