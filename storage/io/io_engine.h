// IoEngine: the seam under all reading, and under writing over pages that a file has. Asynchronous,
// page-aligned, many in flight, with no policy of its own: retries, deadlines and checksums belong
// to BlockReader and BlockWriter above it.
//
// Implementations: io_uring, a pool of pread threads, memory (files held in RAM), and a
// fault-injecting wrapper for tests. An engine is used by one thread at a time and changes threads
// only with nothing in flight (the kernel ties requests to the thread that submitted them). Files
// and buffers are attached before the requests that use them; the engine keeps them alive for as
// long as a request on them may be in flight, even past its own destruction (a stalled disk).
#pragma once

#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/error.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

enum class FileSlot : std::uint32_t {};
enum class BufferSlot : std::uint32_t {};

enum class IoOp : std::uint8_t { kRead, kWrite };

/// One read or write. Offsets and length are multiples of kPageBytes when the file is direct. A
/// write lies within the file as long as it was when it was attached. What is read and written at
/// the same place at the same time has no order.
struct IoRequest {
  FileSlot file;
  BufferSlot buffer;
  std::uint32_t length;         ///< bytes
  std::uint64_t file_offset;    ///< bytes
  std::uint64_t buffer_offset;  ///< bytes
  std::uint64_t tag;            ///< returned with the completion; unique among requests in flight
  IoOp op = IoOp::kRead;        ///< a write's file was opened for that
};

struct IoCompletion {
  std::uint64_t tag;
  std::int64_t result;  ///< bytes read or written (0 at the end of the file, fewer than asked is
                        ///< short), or -errno
};

using Clock = std::chrono::steady_clock;

class IoEngine {
 public:
  virtual ~IoEngine() = default;

  /// "io_uring", "pread", "memory", "fault(...)".
  virtual std::string_view name() const = 0;
  /// The most requests in flight.
  virtual std::size_t depth() const = 0;

  virtual Result<FileSlot> attach_file(std::shared_ptr<const File> file) = 0;
  virtual Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer> buffer) = 0;

  /// Starts a prefix of `requests` and returns its length (0 when full). Transient refusals
  /// (EAGAIN, EBUSY, EINTR) shorten the prefix; only a broken engine is an error.
  virtual Result<std::size_t> submit(std::span<const IoRequest> requests) = 0;

  /// Waits until at least one completion is there or `deadline` passes; returns how many were
  /// written to `out` (0 on a deadline, or when nothing is in flight).
  virtual Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point deadline) = 0;

  virtual std::size_t in_flight() const = 0;
};

inline constexpr std::size_t kMaxIoDepth = 4096;

enum class IoEngineKind { kAuto, kIoUring, kPread, kMemory };

struct IoEngineOptions {
  IoEngineKind kind = IoEngineKind::kAuto;
  std::size_t depth = 128;         ///< requests in flight, 1 to kMaxIoDepth
  int pread_threads = 32;          ///< threads of the pread pool; each holds one request
  bool register_resources = true;  ///< io_uring: register files, buffers where the system lets us
  MemoryLedger* ledger = nullptr;  ///< memory engine: charged with its files; outlives the engine
};

struct IoEngineChoice {
  std::unique_ptr<IoEngine> engine;
  std::string reason;  ///< why this one, for the log and `doctor`: "io_uring refused: Operation not
                       ///< permitted; ..."
};

/// kAuto probes io_uring and falls back to the pread pool; a kind asked for by name that cannot be
/// had is an error.
Result<IoEngineChoice> make_io_engine(const IoEngineOptions& options);

}  // namespace sluice
