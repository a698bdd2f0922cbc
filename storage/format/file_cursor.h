// FileCursor: a data file from front to back, in pieces of a MiB, each checked before it is shown.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/read_ahead.h"

#include <sluice/dataset.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace sluice {

/// How files are read.
struct FileReading {
  Verify verify = Verify::kRead;
  /// By this engine, pieces ahead of the one that is taken, many under way: for long files that are
  /// read to their end. Nothing: each piece when it is asked for; so too where the system has not
  /// this engine, or the ledger no memory for it.
  std::optional<IoChoice> ahead = std::nullopt;
};

/// Used by one thread at a time. Its buffers are charged as "read buffers": a piece, or read ahead
/// up to kAheadBytes, as far as the ledger lets it.
class FileCursor {
 public:
  static constexpr std::uint64_t kAheadBytes = 16 << 20;

  /// Opens the file and loads its checksums, unless they are not wanted. Errors: kData, kIo,
  /// kResource.
  static Result<FileCursor> open(const std::filesystem::path& root,
                                 const FileEntry& entry,
                                 const FileReading& how,
                                 MemoryLedger* ledger);
  FileCursor(FileCursor&&) = default;
  FileCursor& operator=(FileCursor&&) = delete;

  /// The next piece, valid until the next call; empty at the end. Errors: kData, kIo.
  Result<std::span<const std::byte>> next();
  /// Byte of the file at which the next piece begins.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  FileCursor() = default;
  Result<void> read_ahead(IoChoice io, MemoryLedger* ledger);
  Result<std::span<const std::byte>> read_piece();

  std::uint64_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  ChecksumFile sums_;  // none: nothing is checked
  std::shared_ptr<const File> file_;
  AlignedBuffer buffer_;              // of a piece, where nothing is read ahead
  std::unique_ptr<ReadAhead> ahead_;  // has the checksums too
};

}  // namespace sluice
