// AtomicFile: a file that appears whole or not at all. Written as a hidden sibling of its target,
// fsynced and renamed into place by commit(); a kill at any instant leaves the old file or the new
// one. The sibling's name is fixed, so that what a killed run left is overwritten by the next: one
// writer of a target at a time.
//
// Throws Error: kResource when the disk is full (naming the path), kIo otherwise. Not thread-safe.
#pragma once

#include "storage/io/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace sluice {

class AtomicFile {
 public:
  /// Creates the hidden file beside `target`; the folder must be there.
  explicit AtomicFile(std::filesystem::path target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes what was not committed.
  ~AtomicFile();

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  /// Overwrites bytes that were appended before.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t size() const noexcept { return size_; }

  /// Makes the content durable and gives it the target's name.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path partial_;
  File file_;
  std::uint64_t size_ = 0;
  bool committed_ = false;
};

/// Writes a small text file whole.
void write_text_file(const std::filesystem::path& target, std::string_view text);

}  // namespace sluice
