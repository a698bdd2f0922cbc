// CompressedOffsets: where each target's in-edges are, for a topology whose edges stay on disk.
//
// Targets go in blocks of 64: the offset of the block's first edge (64 bits), and for each target
// the end of its edges from there, in the fewest of 8, 16, 32 or 64 bits that hold the block's last
// end. That is 1.25 to 2.25 bytes a target where nodes have up to a thousand in-edges, instead of
// 8, and still found directly. Where few targets have in-edges, the targets are those that are
// listed, which a NodeList finds. Immutable once built; thread-safe.
#pragma once

#include "storage/format/manifest.h"
#include "storage/topology/node_list.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/topology.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sluice {

class CompressedOffsets {
 public:
  class Builder;

  static constexpr std::uint64_t kBlockTargets = 64;
  /// Targets whose ends share one allocation.
  static constexpr std::uint64_t kSegmentTargets = 1 << 16;

  CompressedOffsets() = default;  ///< of no targets

  /// Reads the relation's offsets.bin front to back, each page checked, in bounded memory, and what
  /// targets are listed. Errors: kData when they do not ascend from 0 to the edge count, or these
  /// below theirs. Charged as "topology". Throws Error.
  static CompressedOffsets load(const std::filesystem::path& root,
                                const Manifest& manifest,
                                const RelationSchema& relation,
                                const DatasetOptions& options);

  std::uint64_t num_targets() const noexcept {
    return listed_.in_use() ? listed_.num_nodes() : num_lists_;
  }
  std::uint64_t num_edges() const noexcept { return num_edges_; }

  /// @pre target < num_targets()
  EdgeRange range(std::uint64_t target) const {
    return listed_.in_use() ? range_of_listed(target) : range_of_list(target);
  }

  // Both of range()'s reads are cache misses on a large graph, the second's address known by the
  // first: ask for the one early, for the other later. Of listed targets these are the directory
  // and the list; a third read is not asked for.
  void prefetch_block(std::uint64_t target) const {
    if (listed_.in_use()) {
      __builtin_prefetch(listed_.view().directory.data() + (target >> listed_.view().shift));
    } else {
      __builtin_prefetch(blocks_.data() + target / kBlockTargets);
    }
  }
  void prefetch_ends(std::uint64_t target) const {
    if (listed_.in_use()) return listed_.view().prefetch_nodes(target);
    const Block& block = blocks_[target / kBlockTargets];
    __builtin_prefetch(ends_of(block, target) + (target % kBlockTargets << block.width_log2));
  }

  /// Memory held.
  std::uint64_t bytes() const;

 private:
  struct Block {
    std::uint64_t base;        // offset of the first target's first edge
    std::uint32_t place;       // of the ends in their segment, bytes
    std::uint32_t width_log2;  // bytes an end: 1, 2, 4 or 8
  };

  EdgeRange range_of_list(std::uint64_t list) const {
    const Block& block = blocks_[list / kBlockTargets];
    const std::byte* ends = ends_of(block, list);
    const std::uint64_t place = list % kBlockTargets;
    const std::uint64_t begin = place == 0 ? 0 : read(ends, block.width_log2, place - 1);
    return {block.base + begin, block.base + read(ends, block.width_log2, place)};
  }
  EdgeRange range_of_listed(std::uint64_t target) const {
    const ListedNodes& listed = listed_.view();
    const std::size_t list = listed.rank(target);
    if (list < listed.size() && listed.node(list) == target) return range_of_list(list);
    const std::uint64_t between = list == 0 ? 0 : range_of_list(list - 1).end;
    return {between, between};
  }
  const std::byte* ends_of(const Block& block, std::uint64_t target) const {
    return segments_[target / kSegmentTargets] + block.place;
  }
  static std::uint64_t read(const std::byte* ends, std::uint32_t width_log2, std::uint64_t place) {
    switch (width_log2) {
      case 0:
        return reinterpret_cast<const std::uint8_t*>(ends)[place];
      case 1:
        return reinterpret_cast<const std::uint16_t*>(ends)[place];
      case 2:
        return reinterpret_cast<const std::uint32_t*>(ends)[place];
      default:
        return reinterpret_cast<const std::uint64_t*>(ends)[place];
    }
  }

  std::uint64_t num_lists_ = 0;  // targets, or those that are listed
  std::uint64_t num_edges_ = 0;
  NodeList listed_;
  Charge blocks_charge_;
  std::vector<Block> blocks_;
  std::vector<const std::byte*> segments_;
  std::vector<Array> segment_storage_;
};

/// Builds one from offsets given front to back. Holds one segment beside what is built. Errors are
/// kData as load() gives them, and kResource.
class CompressedOffsets::Builder {
 public:
  /// @param path named in errors
  Builder(std::uint64_t num_targets,
          std::uint64_t num_edges,
          std::filesystem::path path,
          MemoryLedger* ledger);

  /// The next of the num_targets + 1 offsets.
  Result<void> add(std::span<const std::uint64_t> offsets);
  Result<CompressedOffsets> finish();

 private:
  Result<void> start();
  void close_block();
  Result<void> close_segment();

  CompressedOffsets built_;
  std::filesystem::path path_;
  MemoryLedger* ledger_;
  Charge segment_charge_;
  std::vector<std::byte> segment_;                   // ends of the segment being filled
  std::array<std::uint64_t, kBlockTargets> ends_{};  // of the block being filled, from base_
  std::size_t filled_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t seen_ = 0;  // offsets
  std::uint64_t last_ = 0;  // offset
};

}  // namespace sluice
