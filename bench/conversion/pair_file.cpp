#include "bench/conversion/pair_file.h"

#include "core/threads.h"

#include <sluice/random.h>

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kBlockEdges = std::uint64_t{1} << 21;
constexpr std::uint64_t kPairBytes = 8;

// A skewed graph that costs little to draw: both ends by the square of a uniform number, and spread
// over the ids.
struct SkewedDraw {
  std::uint64_t nodes;  // a power of two
  RandomKey key = RandomKey(26).with("pairs");

  std::uint32_t operator()(std::uint64_t counter) const {
    const std::uint64_t low = key.below(1 + key.below(nodes, counter), counter + 1);
    return static_cast<std::uint32_t>(low * 0x9e3779b97f4a7c15ull & (nodes - 1));
  }
};

}  // namespace

void write_pairs(const std::filesystem::path& path,
                 std::uint64_t scale,
                 std::uint64_t edges,
                 std::uint64_t threads) {
  const SkewedDraw draw{std::uint64_t{1} << scale};
  ThreadArena arena(static_cast<int>(threads));
  File file = File::create(path).or_throw();
  AlignedBuffer buffer = AlignedBuffer::make(kBlockEdges * kPairBytes, nullptr, "pairs").or_throw();
  auto* const pairs = reinterpret_cast<std::uint32_t*>(buffer.data());
  for (std::uint64_t first = 0; first < edges; first += kBlockEdges) {
    const std::uint64_t count = std::min(kBlockEdges, edges - first);
    arena.for_ranges(count, 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        pairs[2 * i] = draw(4 * (first + i));
        pairs[2 * i + 1] = draw(4 * (first + i) + 2);
      }
    });
    // Whole pages, so that it can be read past the page cache.
    file.write_at(first * kPairBytes, buffer.bytes().first(round_up_to_page(count * kPairBytes)))
        .or_throw();
  }
  file.sync().or_throw();
  file.close().or_throw();
}

PairFile::PairFile(const std::filesystem::path& path, std::uint64_t edges, MemoryLedger* ledger)
    : file_(File::open_read(path, Direct::kAuto).or_throw()), edges_(edges) {
  for (AlignedBuffer& buffer : buffers_) {
    buffer = AlignedBuffer::make(kBlockEdges * kPairBytes, ledger, "read buffers").or_throw();
  }
  start_reading(0);
}

std::uint64_t PairFile::block_edges(std::uint64_t block) const {
  return std::min(kBlockEdges, edges_ - std::min(edges_, block * kBlockEdges));
}

void PairFile::start_reading(std::uint64_t block) {
  const std::uint64_t bytes = round_up_to_page(block_edges(block) * kPairBytes);
  if (bytes == 0) return;
  reading_ = std::async(std::launch::async, [this, block, bytes] {
    file_.read_at(block * kBlockEdges * kPairBytes, buffers_[block % 2].bytes().first(bytes))
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
