// DataFileWriter: one data file of a dataset, written once from front to back, with its checksums
// made on the way.
//
// Throws Error: kResource when the disk is full (naming the path), kIo otherwise. Not thread-safe.
// A file that was not finished is just bytes in a staging directory that will be swept.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sluice {

class DataFileWriter {
 public:
  /// Creates `root`/`path` and the folders on the way; a file that is there under other names too
  /// keeps its bytes under these. Buffers one block, charged to `ledger` as "write buffers".
  DataFileWriter(const std::filesystem::path& root, std::string path, MemoryLedger* ledger);

  void append(std::span<const std::byte> bytes);

  template <class T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }

  /// Bytes appended so far, padding not counted.
  std::uint64_t size() const noexcept { return appended_; }

  /// Pads to a whole page, writes `<path>.sum`, fsyncs both, closes, and returns the manifest's
  /// entry.
  FileEntry finish();

 private:
  void write_block(std::span<const std::byte> bytes);

  std::filesystem::path root_;
  std::string path_;
  File file_;
  AlignedBuffer buffer_;
  std::size_t filled_ = 0;     // bytes waiting in buffer_
  std::uint64_t written_ = 0;  // bytes on the file
  std::uint64_t appended_ = 0;
  ChecksumFile sums_;
};

/// Rows of a fixed width, laid out in pages as FeatureLayout says.
class FeatureWriter {
 public:
  FeatureWriter(DataFileWriter& file, const FeatureLayout& layout) : file_(file), layout_(layout) {}

  /// Appends whole rows that follow each other in `rows` without a gap.
  void append_rows(std::span<const std::byte> rows);

  std::uint64_t rows() const noexcept { return rows_; }
  const FeatureLayout& layout() const noexcept { return layout_; }

 private:
  DataFileWriter& file_;
  FeatureLayout layout_;
  std::uint64_t rows_ = 0;
};

}  // namespace sluice
