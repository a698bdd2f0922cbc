// ReadAhead: a file read from its front to its end on a thread of its own, a buffer's worth ahead
// of whoever takes the bytes in order. So that the disk goes on while they are used.
#pragma once

#include "core/condition_variable.h"
#include "storage/io/block_reader.h"
#include "storage/io/staging_ring.h"

#include <sluice/mutex.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>

namespace sluice {

class ReadAhead {
 public:
  /// What is read, by which reader (none else uses it from now on), and where to.
  struct Source {
    std::unique_ptr<BlockReader> reader;
    FileSlot file;
    std::uint64_t bytes;  ///< of the file, whole pages
    BufferSlot slot;
    std::shared_ptr<AlignedBuffer> buffer;
    std::uint64_t request_bytes;  ///< whole pages, at most the buffer
  };

  explicit ReadAhead(Source source);
  ~ReadAhead();  ///< drops what was read ahead

  /// The next `request_bytes` of the file, fewer at its end, verified; they stay until the next
  /// call. Nothing at the end. Errors: as BlockReader::read, once and for all.
  Result<std::span<const std::byte>> next();

  IoStats stats() const;

 private:
  class Pass;

  // A request, in the order of the file.
  struct Piece {
    std::uint64_t length;
    bool arrived;
  };

  std::uint64_t length_at(std::uint64_t at) const;

  Source source_;  // the reader is the thread's own
  mutable Mutex mutex_;
  ConditionVariable changed_;
  StagingRing ring_ SLUICE_GUARDED_BY(mutex_);
  std::deque<Piece> pieces_ SLUICE_GUARDED_BY(mutex_);     // requested and not given back
  std::size_t first_piece_ SLUICE_GUARDED_BY(mutex_) = 0;  // number of the first of them
  std::uint64_t asked_ SLUICE_GUARDED_BY(mutex_) = 0;      // bytes of the file
  std::size_t under_way_ SLUICE_GUARDED_BY(mutex_) = 0;    // requests
  bool lent_ SLUICE_GUARDED_BY(mutex_) = false;            // the first piece is with the caller
  bool ended_ SLUICE_GUARDED_BY(mutex_) = false;           // the thread is done
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ SLUICE_GUARDED_BY(mutex_);
  IoStats stats_ SLUICE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sluice
