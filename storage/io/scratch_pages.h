// ScratchPages: bytes appended once to a file without a name, past the page cache and behind the
// caller's back; ScratchPieces: pieces of it read back beside the caller, many at once. For what is
// as large as the data: the page cache would take the processor longer than the disk takes.
//
// Each is for one thread at a time. The file goes with the objects, and with the process, however
// that ends. Throw Error: kResource for a full disk, kIo for a broken one.
#pragma once

#include "core/side_thread.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class BlockReader;

class ScratchPages {
 public:
  /// Bytes of memory for pieces of at most `piece_bytes`.
  static constexpr std::uint64_t memory_for(std::uint64_t piece_bytes) {
    return 2 * (round_up_to_page(piece_bytes) + kPageBytes);
  }

  /// @param piece_bytes the most that place() is asked for
  ScratchPages(const std::filesystem::path& folder, std::uint64_t piece_bytes);

  /// Where the next `bytes` go, to be filled in before the next call. They lie as far from a page's
  /// beginning as they will in the file.
  std::span<std::byte> place(std::uint64_t bytes);
  /// Bytes placed so far: where the next piece lies.
  std::uint64_t size() const noexcept { return written_ + held_; }

  /// Waits until all is on disk, padded to a page, and gives the memory back. Nothing is placed
  /// from then on.
  void finish();

 private:
  friend class ScratchPieces;
  void write_out();

  std::shared_ptr<File> file_;
  std::array<AlignedBuffer, 2> buffers_;
  std::size_t filling_ = 0;    // of buffers_; the other is being written, or free
  std::uint64_t held_ = 0;     // bytes in it
  std::uint64_t written_ = 0;  // bytes before those, whole pages
  SideThread side_;            // last: it uses the others
};

struct ScratchRead {
  std::uint64_t bytes = 0;  ///< of pieces
  std::uint64_t pages = 0;  ///< the same in whole pages, in bytes: what the disk gave
};

class ScratchPieces {
 public:
  struct Piece {
    std::uint64_t offset, bytes;  ///< of what was placed
  };

  /// Bytes of a buffer that a piece takes at most, which is read in whole pages.
  static constexpr std::uint64_t room_for(std::uint64_t bytes) {
    return round_up_to_page(bytes) + kPageBytes;
  }

  /// @param pages finished; may go before this @param buffer_bytes of each of two buffers
  ScratchPieces(const ScratchPages& pages, std::uint64_t buffer_bytes);
  ~ScratchPieces();

  /// Begins to read pieces. What the last next() gave stays; what it is called for next must have
  /// been taken by next(). @pre the sum of room_for(their bytes) is at most buffer_bytes
  void begin(std::span<const Piece> pieces);
  /// Waits for the pieces of begin(), and gives them in their order; they stay until next() is
  /// called again.
  const std::vector<std::span<const std::byte>>& next();

  ScratchRead read() const noexcept { return read_; }

 private:
  struct Half;

  std::unique_ptr<BlockReader> reader_;
  std::array<std::unique_ptr<Half>, 2> halves_;
  std::size_t reading_ = 0;  // of halves_
  ScratchRead read_;
  SideThread side_;  // last: it uses the others
};

}  // namespace sluice
