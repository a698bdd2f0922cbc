// What the disk can do by itself: a plain io_uring loop that shares no code with the engine it is
// compared to. It does nothing but keep `depth` reads in flight: no checks, no retries, no
// statistics; any trouble ends it.
#pragma once

#include "storage/io/block_reader.h"

#include <liburing.h>

#include <cstddef>
#include <functional>
#include <span>

namespace sluice::bench {

class RawDisk {
 public:
  enum class Direction { kRead, kWrite };
  /// `piece.file` numbers the files given; its buffer is the one there is.
  struct Transfer {
    BlockRead piece;
    Direction direction;
  };

  /// Registers the files and the buffer, as a good plain loop does. Throws Error where io_uring is
  /// not to be had.
  RawDisk(std::span<const int> files, std::span<std::byte> buffer, unsigned depth);
  RawDisk(int file, std::span<std::byte> buffer, unsigned depth)
      : RawDisk(std::span(&file, 1), buffer, depth) {}
  RawDisk(const RawDisk&) = delete;
  RawDisk& operator=(const RawDisk&) = delete;
  ~RawDisk();

  /// Reads all; the same requests as a BlockReader gets.
  void read(std::span<const BlockRead> reads) {
    run(reads.size(), [&](std::size_t i) { return Transfer{reads[i], Direction::kRead}; });
  }
  /// Writes the same way, from the buffer to the file.
  void write(std::span<const BlockRead> pieces) {
    run(pieces.size(), [&](std::size_t i) { return Transfer{pieces[i], Direction::kWrite}; });
  }
  /// Both, started in the order given. Pieces in flight together may share a place in the buffer:
  /// what arrives there is looked at by nobody.
  void move(std::span<const Transfer> transfers) {
    run(transfers.size(), [&](std::size_t i) { return transfers[i]; });
  }

 private:
  void run(std::size_t count, const std::function<Transfer(std::size_t)>& transfer);
  void queue(const Transfer& transfer);

  io_uring ring_{};
  std::span<std::byte> buffer_;
  unsigned depth_;
  bool fixed_buffer_ = false;
};

}  // namespace sluice::bench
