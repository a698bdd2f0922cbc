// What the device can do by itself: a plain io_uring loop that shares no code with the engine it is
// compared to. It does nothing but keep `depth` reads in flight: no checks, no retries, no
// statistics; any trouble ends it.
#pragma once

#include "storage/io/block_reader.h"

#include <liburing.h>

#include <cstddef>
#include <span>

namespace sluice::bench {

class RawDevice {
 public:
  /// Registers the file and the buffer, as a good plain loop does. Throws Error where io_uring is
  /// not to be had.
  RawDevice(int fd, std::span<std::byte> buffer, unsigned depth);
  RawDevice(const RawDevice&) = delete;
  RawDevice& operator=(const RawDevice&) = delete;
  ~RawDevice();

  /// Reads all; the same requests as a BlockReader gets (their slots are ignored).
  void read(std::span<const BlockRead> reads) { run(reads, Direction::kRead); }
  /// Writes the same way, from the buffer to the file.
  void write(std::span<const BlockRead> pieces) { run(pieces, Direction::kWrite); }

 private:
  enum class Direction { kRead, kWrite };
  void run(std::span<const BlockRead> pieces, Direction direction);
  void queue(const BlockRead& piece, Direction direction);

  io_uring ring_{};
  std::span<std::byte> buffer_;
  unsigned depth_;
  int fd_;
  bool fixed_buffer_ = false;
};

}  // namespace sluice::bench
