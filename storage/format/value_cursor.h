// ValueCursor: elements of a plain array in a data file, widened to u64, from front to back.
#pragma once

#include "storage/format/file_cursor.h"

#include <sluice/dtype.h>
#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

namespace sluice {

class ValueCursor {
 public:
  /// Throws Error: kData for a file that is shorter than `count` values; what FileCursor says.
  ValueCursor(const std::filesystem::path& root,
              const FileEntry& entry,
              DType dtype,
              std::uint64_t count,
              MemoryLedger* ledger,
              const FileReading& how = {});

  /// The next value; nothing after the last.
  std::optional<std::uint64_t> next() {
    if (left_ == 0) return std::nullopt;
    if (at_ == piece_.size()) refill();
    --left_;
    const std::byte* const value = piece_.data() + at_;
    at_ += width_;
    if (width_ == 4) return load<std::uint32_t>(value);
    return load<std::uint64_t>(value);
  }

 private:
  template <class T>
  static std::uint64_t load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  void refill();

  FileCursor cursor_;
  std::span<const std::byte> piece_;
  std::size_t at_ = 0;
  std::size_t width_;
  std::uint64_t left_;
};

}  // namespace sluice
