#include "storage/format/partitions.h"

#include "core/hash.h"
#include "storage/format/data_file.h"
#include "storage/format/data_file_reader.h"
#include "storage/io/read_errors.h"

#include <zstd.h>

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace sluice {

Partitions Partitions::open(const std::filesystem::path& root,
                            const Manifest& manifest,
                            MemoryLedger* ledger) {
  Partitions partitions;
  partitions.schema_ = *manifest.schema.partitions;
  const PartitionSchema& schema = partitions.schema_;
  const FileEntry entry = find_file(root, manifest, kFramesPath).or_throw();
  partitions.path_ = root / entry.path;
  partitions.file_bytes_ = entry.bytes;
  partitions.sums_ = load_checksums(root, entry, ledger).or_throw();
  partitions.file_ = File::open_read(partitions.path_).or_throw();
  const Array index = load_array(root,
                                 manifest,
                                 kFrameIndexPath,
                                 DType::kU64,
                                 {static_cast<std::int64_t>(schema.frames), 5},
                                 {ledger, Verify::kRead},
                                 "partitions")
                          .or_throw();
  partitions.frames_.resize(schema.frames);
  if (schema.frames != 0)
    std::memcpy(partitions.frames_.data(), index.data(), schema.frames * sizeof(BucketFrame));
  for (const BucketFrame& frame : partitions.frames_) {
    if (frame.source_part < schema.parts && frame.target_part < schema.parts &&
        frame.offset + frame.bytes <= entry.bytes && frame.offset + frame.bytes >= frame.offset)
      continue;
    throw Error(ErrorCode::kData,
                "a frame of the partitions lies outside of their file",
                "the dataset is damaged: restore it from a copy or prepare it again",
                Place{(root / kFrameIndexPath).string(), -1, -1, -1});
  }
  return partitions;
}

std::uint64_t Partitions::bucket_edges(std::uint64_t source_part, std::uint64_t target_part) const {
  std::uint64_t edges = 0;
  for (const BucketFrame& frame : frames_) {
    if (frame.source_part == source_part && frame.target_part == target_part) edges += frame.edges;
  }
  return edges;
}

Result<std::vector<BucketEdge>> Partitions::bucket(std::uint64_t source_part,
                                                   std::uint64_t target_part) const {
  std::vector<BucketEdge> edges(bucket_edges(source_part, target_part));
  std::vector<std::byte> pages;
  std::size_t at = 0;
  for (const BucketFrame& frame : frames_) {
    if (frame.source_part != source_part || frame.target_part != target_part) continue;
    const std::uint64_t first = frame.offset / kPageBytes * kPageBytes;
    pages.resize(round_up_to_page(frame.offset + frame.bytes) - first);
    if (auto read = file_.read_at(first, pages); !read) return std::move(read).error();
    for (std::size_t page = 0; page < pages.size(); page += kPageBytes) {
      const auto bytes = std::span<const std::byte>(pages).subspan(page, kPageBytes);
      if (xxh3_32(bytes) != sums_.page_sums[(first + page) / kPageBytes])
        return checksum_error(path_, first + page);
    }
    const std::size_t wanted = frame.edges * sizeof(BucketEdge);
    const std::size_t got = ZSTD_decompress(
        edges.data() + at, wanted, pages.data() + (frame.offset - first), frame.bytes);
    if (ZSTD_isError(got) != 0 || got != wanted) {
      return Error(ErrorCode::kData,
                   fmt::format("the frame at byte {} is not what its index says", frame.offset),
                   "the dataset is damaged: restore it from a copy or prepare it again",
                   Place{path_.string(), -1, -1, static_cast<std::int64_t>(frame.offset)});
    }
    at += frame.edges;
  }
  return edges;
}

}  // namespace sluice
