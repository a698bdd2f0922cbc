// The errors a BlockReader or BlockWriter ends in: each names file, byte offset and what to do.
#pragma once

#include "storage/io/block_reader.h"

#include <cstdint>
#include <filesystem>

namespace sluice {

/// A file with what the reader knows of it.
struct ReadableFile {
  std::shared_ptr<const File> file;
  std::uint64_t size;
  std::span<const std::uint32_t> page_sums;
};

// `done`: the bytes of `read` that had arrived intact.
Error read_failed(const ReadableFile& file,
                  const BlockRead& read,
                  std::uint32_t done,
                  int error_number);
Error write_failed(const ReadableFile& file,
                   const BlockRead& write,
                   std::uint32_t done,
                   int error_number);
Error read_truncated(const ReadableFile& file, const BlockRead& read, std::uint32_t done);
Error read_corrupt(const ReadableFile& file, const BlockRead& read, std::uint32_t done);
/// @param waiting how many requests had not completed; `read` is the oldest of them.
Error io_stalled(IoOp op,
                 const ReadableFile& file,
                 const BlockRead& read,
                 std::uint32_t done,
                 std::size_t waiting,
                 std::chrono::milliseconds timeout);
/// A request that breaks BlockRead's contract; `index` is its place in the call.
Error read_invalid(const BlockRead& read, std::size_t index, const char* problem);

/// A page of a file, at this byte, that does not match its checksum.
Error checksum_error(const std::filesystem::path& path, std::uint64_t offset);

/// A file that cannot be read by pages, or does not fit its checksums.
Result<void> check_pages(const ReadableFile& file);

}  // namespace sluice
