// Partitions of a dataset, for training that holds a few of them at a time: ranges of the nodes of
// one type, and the edges between them in P x P buckets. Layout: FORMAT.md, "Partitions".
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"
#include "storage/io/file.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice {

inline constexpr const char* kFramesPath = "partitions/frames.bin";
inline constexpr const char* kFrameIndexPath = "partitions/index.bin";

/// An edge of a bucket; node ids count from the beginning of their part.
struct BucketEdge {
  std::uint32_t relation = 0;  ///< its place among the relations of the manifest
  std::uint32_t source = 0;
  std::uint32_t target = 0;
};
static_assert(sizeof(BucketEdge) == 12);

/// One zstd frame: edges of one bucket, in the order of the CSC files.
struct BucketFrame {
  std::uint64_t source_part = 0;
  std::uint64_t target_part = 0;
  std::uint64_t offset = 0;  ///< byte of frames.bin
  std::uint64_t bytes = 0;   ///< compressed
  std::uint64_t edges = 0;
};
static_assert(sizeof(BucketFrame) == 40);

/// Where part `part` of `parts` begins: parts differ by one node at most.
constexpr std::uint64_t part_begin(std::uint64_t nodes, std::uint64_t parts, std::uint64_t part) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(nodes) * part / parts);
}
/// The part that holds `node`.
constexpr std::uint64_t part_of(std::uint64_t nodes, std::uint64_t parts, std::uint64_t node) {
  const auto part =
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(node) * parts / nodes);
  return node >= part_begin(nodes, parts, part + 1) ? part + 1 : part;  // divisions round down
}

class Partitions {
 public:
  /// @pre manifest.schema.partitions. Throws Error.
  static Partitions open(const std::filesystem::path& root,
                         const Manifest& manifest,
                         MemoryLedger* ledger);

  const PartitionSchema& schema() const noexcept { return schema_; }
  std::uint64_t bucket_edges(std::uint64_t source_part, std::uint64_t target_part) const;
  /// Reads a bucket, decompressed; every page it lies on is verified.
  Result<std::vector<BucketEdge>> bucket(std::uint64_t source_part,
                                         std::uint64_t target_part) const;

 private:
  PartitionSchema schema_;
  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  ChecksumFile sums_;
  File file_;
  std::vector<BucketFrame> frames_;
};

}  // namespace sluice
