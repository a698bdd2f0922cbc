// ArrayFile: a .npy file or lines of CSV, written row by row, front to back.
#pragma once

#include "storage/io/file.h"

#include <sluice/dtype.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Buffered bytes into a new file.
class ByteFile {
 public:
  explicit ByteFile(const std::filesystem::path& path);
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  /// Flushes to the disk; returns the bytes of the file.
  std::uint64_t finish();

 private:
  void flush();
  File file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

/// The head of a version 1.0 .npy file of `rows` rows (NumPy Enhancement Proposal 1). Bytes of
/// bfloat16 are shown as u16.
std::string npy_head(DType dtype, std::uint64_t rows, std::uint64_t width);

}  // namespace sluice
