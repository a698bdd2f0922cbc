#include "bench/conversion/pair_file.h"

#include "bench/conversion/skewed_draw.h"
#include "core/threads.h"

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kFilePairBytes = 8;

}  // namespace

void write_pairs(const std::filesystem::path& path,
                 std::uint64_t scale,
                 std::uint64_t edges,
                 std::uint64_t threads) {
  const SkewedDraw draw{std::uint64_t{1} << scale};
  ThreadArena arena(static_cast<int>(threads));
  File file = File::create(path).or_throw();
  AlignedBuffer buffer =
      AlignedBuffer::make(PairFile::kBlockEdges * kFilePairBytes, nullptr, "pairs").or_throw();
  auto* const pairs = reinterpret_cast<std::uint32_t*>(buffer.data());
  for (std::uint64_t first = 0; first < edges; first += PairFile::kBlockEdges) {
    const std::uint64_t count = std::min(PairFile::kBlockEdges, edges - first);
    arena.for_ranges(count, 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        pairs[2 * i] = draw.source(first + i);
        pairs[2 * i + 1] = draw.target(first + i);
      }
    });
    // Whole pages, so that it can be read past the page cache.
    file.write_at(first * kFilePairBytes,
                  buffer.bytes().first(round_up_to_page(count * kFilePairBytes)))
        .or_throw();
  }
  file.sync().or_throw();
  file.close().or_throw();
}

PairFile::PairFile(const std::filesystem::path& path,
                   std::uint64_t edges,
                   MemoryLedger* ledger,
                   std::uint64_t block_edges)
    : file_(File::open_read(path, Direct::kAuto).or_throw()),
      edges_(edges),
      block_edges_(block_edges) {
  for (AlignedBuffer& buffer : buffers_) {
    buffer = AlignedBuffer::make(block_edges_ * kFilePairBytes, ledger, "read buffers").or_throw();
  }
  start_reading(0);
}

std::uint64_t PairFile::block_edges(std::uint64_t block) const {
  return std::min(block_edges_, edges_ - std::min(edges_, block * block_edges_));
}

void PairFile::start_reading(std::uint64_t block) {
  const std::uint64_t bytes = round_up_to_page(block_edges(block) * kFilePairBytes);
  if (bytes == 0) return;
  reading_ = std::async(std::launch::async, [this, block, bytes] {
    file_.read_at(block * block_edges_ * kFilePairBytes, buffers_[block % 2].bytes().first(bytes))
        .or_throw();
  });
}

std::optional<EdgeView> PairFile::next() {
  const std::uint64_t count = block_edges(block_);
  if (count == 0) return std::nullopt;
  reading_.get();
  start_reading(block_ + 1);
  const auto* const pairs = reinterpret_cast<const std::uint32_t*>(buffers_[block_++ % 2].data());
  return EdgeSpan<std::uint32_t>{pairs, pairs + 1, count, 2};
}

}  // namespace sluice::bench
