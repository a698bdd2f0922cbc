// BlockReader: many page-aligned reads, done right. Keeps an engine's queue full, continues short
// reads, retries what is worth retrying a bounded number of times, checks page checksums, and never
// waits past a deadline.
//
// Used by one thread at a time; may change threads between calls. When `read` returns an error
// other than a stall or a broken engine, nothing is in flight any more. After those two the reader
// is broken for good (every later call fails), and the engine keeps the buffers alive.
//
// BlockWriter, its twin, writes over pages of files through a reader's engine, files and buffers.
#pragma once

#include "core/counts.h"
#include "storage/io/io_engine.h"

#include <sluice/request_latency.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace sluice {

/// A read of whole pages: offsets and length are multiples of kPageBytes, within the file and the
/// buffer.
struct BlockRead {
  FileSlot file;
  BufferSlot buffer;
  std::uint32_t length;
  std::uint64_t file_offset;
  std::uint64_t buffer_offset;
};

struct BlockReaderOptions {
  int max_retries = 4;  ///< per request: EIO, EAGAIN, EINTR, ENOMEM, zero progress, bad checksum
  std::chrono::milliseconds timeout{
      30'000};  ///< longest time without any completion before the disk counts as stalled
};

struct IoStats {
  std::uint64_t requests = 0;     ///< completed BlockReads
  std::uint64_t bytes = 0;        ///< bytes of completed BlockReads
  std::uint64_t short_reads = 0;  ///< continuations after a short read or write
  std::uint64_t retries = 0;      ///< repeats after an error or a bad checksum
  std::uint64_t busy_ns = 0;      ///< wall time inside read()
  RequestLatency latency;         ///< submit to completion, of each request

  IoStats& operator+=(const IoStats& more) { return add_counts(*this, more); }
};

/// A write of whole pages, likewise.
using BlockWrite = BlockRead;

/// Where the reads of a call come from, one by one: for more reads than fit a list or a buffer.
class ReadSource {
 public:
  virtual ~ReadSource() = default;
  /// The next read; nothing at the end, and nothing while its place in a buffer is still taken by a
  /// read in flight. May wait for room while none is in flight. Must not throw.
  virtual std::optional<BlockRead> next() = 0;
  /// The read that next() gave as its `index`-th (from 0) has arrived and its pages are verified.
  /// Must not throw.
  virtual void done(std::size_t index) = 0;
};

struct ReaderState;

class BlockReader {
 public:
  BlockReader(std::unique_ptr<IoEngine> engine, BlockReaderOptions options = {});
  ~BlockReader();

  /// @param page_sums XXH3-32 of every page of the file, or empty for no verification; kept by
  /// reference, must outlive the reader. A file whose size is not a whole number of pages is a
  /// kData error.
  Result<FileSlot> attach(std::shared_ptr<const File> file,
                          std::span<const std::uint32_t> page_sums = {});
  Result<BufferSlot> attach(std::shared_ptr<AlignedBuffer> buffer);

  using OnDone = std::function<void(std::size_t index)>;

  /// Performs all reads, in any order, and returns when all are done or one has failed for good.
  /// `on_done(i)` is called on this thread as soon as reads[i] has arrived and its pages are
  /// verified; it must not throw (one that does breaks the reader). The error is that of the first
  /// read that failed, naming file, offset and what to do; requests not yet started are dropped,
  /// those in flight are waited for. @pre no two reads of one call share buffer bytes.
  Result<void> read(std::span<const BlockRead> reads, const OnDone& on_done = {});

  /// As above, for reads that `source` gives one by one while earlier ones are under way.
  Result<void> read(ReadSource& source);

  const IoStats& stats() const noexcept;
  IoEngine& engine() noexcept;

 private:
  friend class BlockWriter;
  std::unique_ptr<ReaderState> state_;
};

/// Writes through a reader: so that what was written is what is read next, whatever the engine.
/// Used by the reader's thread. After a stall both are broken, as said above.
class BlockWriter {
 public:
  /// @param reader outlives the writer
  explicit BlockWriter(BlockReader& reader) : reader_(reader) {}

  /// Writes all, in any order, and returns when all are done or one has failed for good. Then the
  /// error is that of the first that failed, ENOSPC and the like kResource; which others were
  /// written, in whole or in part, is not known. Short writes are continued, and what is worth
  /// retrying is. Nothing is durable before File::sync(). @pre every file was attached as one that
  /// is open for writing, no two writes of one call share file bytes
  Result<void> write(std::span<const BlockWrite> writes);
  /// Reads and writes at once, the reads begun first: as BlockReader::read() and write(), in one
  /// call. @pre none reads what another writes, in files or buffers
  Result<void> exchange(std::span<const BlockRead> reads, std::span<const BlockWrite> writes);

  const IoStats& stats() const noexcept { return stats_; }

 private:
  BlockReader& reader_;
  IoStats stats_;
};

}  // namespace sluice
