// Reading data files of a dataset back whole, checked page by page.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace sluice {

/// The manifest's entry of `path`, after checking that the file is there with the size it should
/// have (else kData).
Result<FileEntry> find_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path);

/// Loads the file's checksums and checks that they are the ones the manifest means.
Result<ChecksumFile> load_checksums(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    MemoryLedger* ledger);

/// Reads a data file from front to back in pieces of a MiB, each verified before it is shown
/// (unless off). One thread.
class FileCursor {
 public:
  static Result<FileCursor> open(const std::filesystem::path& root,
                                 const FileEntry& entry,
                                 Verify verify,
                                 MemoryLedger* ledger);

  /// The next piece, valid until the next call; empty at the end.
  Result<std::span<const std::byte>> next();
  /// Byte of the file at which the next piece begins.
  std::uint64_t offset() const noexcept { return offset_; }
  /// Goes on at `offset`, a multiple of kSumBlockBytes.
  void seek(std::uint64_t offset) { offset_ = offset; }

 private:
  std::filesystem::path path_;
  std::uint64_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  Verify verify_ = Verify::kRead;
  ChecksumFile sums_;
  File file_;
  AlignedBuffer buffer_;
};

/// Passes the file through `take` in order, in pieces of a MiB, each verified before it is passed
/// (unless off).
Result<void> scan_file(const std::filesystem::path& root,
                       const FileEntry& entry,
                       Verify verify,
                       MemoryLedger* ledger,
                       const std::function<Result<void>(std::uint64_t offset,
                                                        std::span<const std::byte> bytes)>& take);

/// The first array.bytes() bytes of the file as an array. A file that is shorter is a kData error.
Result<Array> load_array(const std::filesystem::path& root,
                         const Manifest& manifest,
                         const std::string& path,
                         DType dtype,
                         Array::Shape shape,
                         const DatasetOptions& options,
                         std::string_view charge_name);

/// The error for a page that does not match its checksum.
Error checksum_error(const std::filesystem::path& path, std::uint64_t offset);

}  // namespace sluice
