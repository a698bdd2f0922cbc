// What a table moved, moved by the bare disk: a file as large as the table, and reads and writes of
// it by an io_uring loop that does nothing else.
#pragma once

#include "bench/support/raw_disk.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice::bench {

class BareTable {
 public:
  struct Piece {
    std::uint64_t offset = 0, length = 0;  ///< whole pages within the file
    RawDisk::Direction direction = RawDisk::Direction::kRead;
  };

  /// Writes a file without a name, of random bytes. Throws Error.
  BareTable(const std::filesystem::path& folder, std::uint64_t bytes);

  /// Whether the disk itself is measured: the file system has O_DIRECT. Where it has not, says so
  /// on stderr.
  bool direct() const;
  std::uint64_t bytes() const { return bytes_; }
  /// Seconds that the pieces take, in requests of at most a MiB; many in flight, in this order.
  double seconds(const std::vector<Piece>& pieces);

 private:
  std::uint64_t bytes_;
  File file_;
  AlignedBuffer buffer_;
  std::unique_ptr<RawDisk> disk_;
};

}  // namespace sluice::bench
