// TraceWriter: what the threads of a run did and when, as Chrome trace events, to be opened in
// Perfetto (ui.perfetto.dev) or chrome://tracing.
//
//   TraceWriter trace("run.trace.json", &ledger);
//   trace.name_thread("fetch");
//   { TraceSpan span(&trace, "window"); span.note("rows", rows); read(); }
//   trace.count("in flight", depth);
//   trace.close();
//
// Thread-safe but for close(). Memory is bounded: events go to a file beside the target as they
// come. The target appears whole at close(); without it, or in a crash, there is none. Recording
// never fails or stops the run: the first error of writing ends the recording and is thrown by
// close(). Code that may or may not be traced holds a pointer that is null when off: TraceSpan then
// costs some nanoseconds.
#pragma once

#include "storage/io/atomic_file.h"

#include <sluice/memory.h>
#include <sluice/mutex.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace sluice {

/// A figure of an event, shown beside it. `name` is kept by reference until the event is written.
struct TraceNote {
  std::string_view name;
  double value = 0;  ///< whole numbers up to 2^53 come out whole; not a number becomes null
};

class TraceWriter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kBufferBytes = 256 << 10;
  static constexpr std::uint64_t kSlackBytes = 4096;  ///< the event that fills it may overhang
  static constexpr std::uint64_t kChargedBytes = kBufferBytes + kSlackBytes;

  /// Times count from now. The buffer is charged as "trace". Throws Error where the target's folder
  /// cannot be written to.
  explicit TraceWriter(std::filesystem::path target,
                       MemoryLedger* ledger = nullptr,
                       std::string_view process = "sluice");
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();  ///< without close(): leaves nothing

  /// Gives the calling thread a row of its own by this name; threads that follow each other under
  /// one name share the row. Two that run at once must not.
  void name_thread(std::string_view name);

  /// What the calling thread did from `begin` to `end`; spans of a thread nest.
  void span(std::string_view name,
            Clock::time_point begin,
            Clock::time_point end,
            std::span<const TraceNote> notes = {});
  /// A figure over time: now it is `value`.
  void count(std::string_view name, double value);

  /// Completes the file and gives it its name. Once; throws the Error of whatever failed in
  /// writing. @pre no other thread records any more
  void close();

 private:
  std::uint32_t thread_number() SLUICE_REQUIRES(mutex_);
  std::uint32_t row_of(std::string_view name) SLUICE_REQUIRES(mutex_);
  void begin_event(std::string_view name, char phase, std::uint32_t thread) SLUICE_REQUIRES(mutex_);
  void end_event() SLUICE_REQUIRES(mutex_);
  void flush() noexcept SLUICE_REQUIRES(mutex_);

  Mutex mutex_;
  Charge charge_;
  std::optional<AtomicFile> file_ SLUICE_GUARDED_BY(mutex_);
  Clock::time_point origin_;
  std::int64_t process_id_;
  std::string buffer_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t, std::less<>> rows_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::uint32_t> threads_ SLUICE_GUARDED_BY(mutex_);
  std::optional<Error> failure_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<bool> recording_{true};
  bool first_ SLUICE_GUARDED_BY(mutex_) = true;
};

/// Records its own life as a span of the calling thread; nothing when the writer is null.
class TraceSpan {
 public:
  static constexpr std::size_t kMaxNotes = 6;

  /// @param name kept by reference until the end
  TraceSpan(TraceWriter* writer, std::string_view name) : writer_(writer) {
    if (writer_ == nullptr) return;
    name_ = name;
    begin_ = TraceWriter::Clock::now();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (writer_ != nullptr) end();
  }

  /// @pre at most kMaxNotes; more are left out
  void note(std::string_view name, double value) {
    if (writer_ != nullptr && num_notes_ < kMaxNotes) notes_[num_notes_++] = {name, value};
  }

 private:
  void end() noexcept;

  TraceWriter* writer_;
  std::string_view name_;
  TraceWriter::Clock::time_point begin_;
  std::array<TraceNote, kMaxNotes> notes_;
  std::size_t num_notes_ = 0;
};

}  // namespace sluice
