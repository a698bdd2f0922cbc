// Edges as pairs of u32 in a plain file: the input of the external case.
#pragma once

#include "prep/edge_stream.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <future>

namespace sluice::bench {

/// Writes a skewed graph of 2^scale nodes as pairs (source, target).
void write_pairs(const std::filesystem::path& path,
                 std::uint64_t scale,
                 std::uint64_t edges,
                 std::uint64_t threads);

/// Reads such a file past the page cache, one block ahead.
class PairFile final : public EdgeStream {
 public:
  static constexpr std::uint64_t kBlockEdges = std::uint64_t{1} << 21;

  /// @param block_edges read at once: a multiple of 512, which are a page; two blocks are held
  PairFile(const std::filesystem::path& path,
           std::uint64_t edges,
           MemoryLedger* ledger,
           std::uint64_t block_edges = kBlockEdges);
  std::optional<EdgeView> next() override;
  std::optional<std::uint64_t> expected() const override { return edges_; }

 private:
  std::uint64_t block_edges(std::uint64_t block) const;
  void start_reading(std::uint64_t block);

  File file_;
  std::uint64_t edges_;
  std::uint64_t block_edges_;
  std::uint64_t block_ = 0;  // the next one
  std::array<AlignedBuffer, 2> buffers_;
  std::future<void> reading_;
};

}  // namespace sluice::bench
