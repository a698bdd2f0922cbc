// ScratchBytes: bytes that are appended once and then read any number of times: in memory as long
// as there is some to spare, from then on in a file without a name, which goes with the process.
//
// Appending is for one thread; reading, once all is appended, for any number. Throws Error
// (kResource for a full disk).
#pragma once

#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sluice {

class ScratchBytes {
 public:
  /// @param folder where the file would be made
  /// @param memory_bytes at most so many stay in memory, rounded up to a segment; charged to
  /// `ledger` as "edges"
  ScratchBytes(std::filesystem::path folder, MemoryLedger* ledger, std::uint64_t memory_bytes);

  void append(std::span<const std::byte> bytes);
  template <class T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }

  std::uint64_t size() const noexcept { return size_; }
  /// Bytes that went to the file.
  std::uint64_t spilled() const noexcept { return in_file_; }

  /// @pre offset + out.size() <= size()
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  template <class T>
  void read_values(std::uint64_t index, std::span<T> out) const {
    read_at(index * sizeof(T), std::as_writable_bytes(out));
  }

 private:
  void add_segment();
  void spill();

  std::filesystem::path folder_;
  MemoryLedger* ledger_;
  std::uint64_t most_segments_;
  std::vector<AlignedBuffer> segments_;  // the last one is being filled
  std::uint64_t size_ = 0;
  std::uint64_t in_file_ = 0;  // bytes before the segments
  File file_;
};

}  // namespace sluice
