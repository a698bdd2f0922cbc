// RunWriter: many runs of bytes written side by side into one scratch file, each growing at its own
// pace: a buffer a run, and a few more whose bytes are on their way to the disk.
//
// One thread appends; a few write. Page sums are taken of what is written, so that reading back is
// verified as everything else is.
#pragma once

#include "core/condition_variable.h"
#include "storage/io/file.h"

#include <sluice/error.h>
#include <sluice/mutex.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace sluice {

class RunWriter {
 public:
  static constexpr std::size_t kLeastSpare = 8;  ///< buffers on their way
  static constexpr std::size_t kGoodSpare = 24;
  static constexpr std::uint64_t kLeastChunk = 4 * 1024;
  static constexpr std::uint64_t kGoodChunk = 64 * 1024;
  static constexpr std::uint64_t kMostChunk = 256 * 1024;

  struct Chunks {
    std::uint64_t bytes = 0;  ///< of each; 0 when there is too little for them
    std::size_t count = 0;    ///< one a run and the spare ones
  };
  /// What so many runs get out of `bytes`: more spare ones where chunks are large enough.
  static Chunks chunks_for(std::uint64_t bytes, std::size_t runs);

  /// @param file direct or not; borrowed
  /// @param begins where each run begins, whole pages; the last entry is the file's end
  /// @param sums one a page of the file, filled in
  /// @param chunks page-aligned, a chunk a run and spare ones; borrowed
  /// @param bytes_read_at_once of the table, at most: how much is written at once goes by it
  RunWriter(File& file,
            std::span<const std::uint64_t> begins,
            std::span<std::uint32_t> sums,
            std::uint64_t chunk_bytes,
            std::span<std::byte> chunks,
            std::uint64_t bytes_read_at_once);
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;
  ~RunWriter();

  /// Adds to a run. Waits for a free buffer. Errors: of an earlier write.
  Result<void> append(std::size_t run, std::span<const std::byte> bytes);
  /// Writes what is left of all runs, the last page of each filled up with zeros.
  Result<void> finish();
  /// Pieces that went to the disk, or are on their way.
  std::uint64_t writes() const { return writes_; }

 private:
  struct Run {
    std::uint64_t at = 0;  // file offset of its buffer
    std::size_t buffer = 0;
    std::size_t used = 0;
    std::size_t full = 0;  // bytes at which the buffer goes to the disk
  };
  struct Job {
    std::size_t buffer;
    std::uint64_t at;
    std::size_t bytes;  // whole pages
  };

  Result<void> flush(Run& run);
  Result<std::size_t> take_buffer();
  std::span<std::byte> buffer(std::size_t index) {
    return {buffers_.data() + index * chunk_, chunk_};
  }
  void write_loop();
  void stop();

  File& file_;
  std::span<std::uint32_t> sums_;
  std::size_t chunk_;
  std::span<std::byte> buffers_;
  std::vector<Run> runs_;
  std::uint64_t writes_ = 0;
  Mutex mutex_;
  ConditionVariable jobs_there_;  // each for one of the threads
  ConditionVariable jobs_done_;   // for who appends
  std::vector<std::size_t> free_ SLUICE_GUARDED_BY(mutex_);
  std::deque<Job> jobs_ SLUICE_GUARDED_BY(mutex_);
  std::size_t writing_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace sluice
