#include "core/pages_ahead.h"

#include "core/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <system_error>

namespace sluice {
namespace {

// Whoever maps memory meanwhile waits for a piece: one of them may take 5 ms.
constexpr std::size_t kPiece = kHugePageBytes;
constexpr std::size_t kPiecesAThread = 256;
constexpr std::size_t kMostThreads = 2;
constexpr std::size_t kStop = std::numeric_limits<std::size_t>::max();

bool populate([[maybe_unused]] std::span<std::byte> memory) {
#if defined(MADV_POPULATE_WRITE)
  return ::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

}  // namespace

PagesAhead::PagesAhead(std::span<std::byte> memory) : memory_(memory) {
  const std::size_t pieces = (memory.size() + kPiece - 1) / kPiece;
  const std::size_t threads = std::min(pieces / kPiecesAThread + 1, kMostThreads);
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { make_pages(); });
  } catch (const std::system_error&) {
    // With those there are; pages are made when they are met, too.
  }
}

PagesAhead::~PagesAhead() {
  wanted_ = kStop;
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PagesAhead::want(std::size_t bytes) {
  if (bytes <= wanted_) return;
  wanted_ = std::min(bytes, memory_.size());
  wanted_.notify_all();
}

void PagesAhead::make_pages() {
  for (;;) {
    const std::size_t begin = next_++ * kPiece;
    if (begin >= memory_.size()) return;
    std::size_t wanted = wanted_;
    for (; wanted <= begin; wanted = wanted_) wanted_.wait(wanted);
    if (wanted == kStop) return;
    const std::size_t piece = std::min(memory_.size() - begin, kPiece);
    // A system that refuses once would refuse again.
    if (!populate(memory_.subspan(begin, piece))) return;
  }
}

}  // namespace sluice
