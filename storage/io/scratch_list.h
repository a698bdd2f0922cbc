// ScratchList: lists of numbers kept in a nameless file between being made and being read, in
// as few bytes as their values need.
//
// Appended in pieces, read back by piece. Memory: one buffer. Goes with the object or the process.
// Used by one thread at a time.
#pragma once

#include "storage/io/file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sluice {

class ScratchList {
 public:
  /// @param width bytes a number: 2, 4 or 8. Throws Error.
  ScratchList(const std::filesystem::path& folder, std::size_t width);

  std::size_t width() const { return width_; }
  /// Numbers appended so far: where the next piece begins.
  std::uint64_t size() const { return size_; }
  /// Makes room on the disk for so many numbers in all, so that none of them fails for want of it.
  /// Throws Error.
  void reserve(std::uint64_t numbers);
  /// Gives back room for more numbers than there are. Throws Error.
  void give_back_room();
  /// @pre each number fits the width. Throws Error.
  void append(std::span<const std::uint64_t> numbers);
  void append(std::span<const std::uint32_t> numbers);
  /// Replaces numbers that were appended. Throws Error.
  void write(std::uint64_t at, std::span<const std::uint32_t> numbers);
  /// Reads out.size() numbers from the `at`-th on. Throws Error.
  void read(std::uint64_t at, std::span<std::uint64_t> out);
  void read(std::uint64_t at, std::span<std::uint32_t> out);

  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  template <class T>
  void put(std::uint64_t at, std::span<const T> numbers);
  template <class T>
  void get(std::uint64_t at, std::span<T> out);

  File file_;
  std::size_t width_;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;
  std::vector<std::byte> buffer_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace sluice
