// StageClock: what a stage of the pipeline spends its time on. Busy: a piece of its work, counted
// and, where a trace is written, recorded as a span of the stage's name: what a stage was busy for
// is the sum of its spans, to the nanosecond.
//
// The clock is its stage's thread's own, but for times(), which anyone may ask for. A Busy lives on
// the thread's stack.
#pragma once

#include "pipeline/trace.h"

#include <sluice/loader_stats.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class StageClock {
 public:
  using Clock = TraceWriter::Clock;

  /// @param name kept by reference. @param trace borrowed; may be null
  explicit StageClock(std::string_view name, TraceWriter* trace = nullptr)
      : name_(name), trace_(trace) {}

  void count_busy(Clock::time_point begin,
                  Clock::time_point end,
                  std::span<const TraceNote> notes) {
    add(busy_, begin, end);
    if (trace_ != nullptr) trace_->span(name_, begin, end, notes);
  }
  void count_starved(Clock::time_point begin, Clock::time_point end) { add(starved_, begin, end); }
  void count_blocked(Clock::time_point begin, Clock::time_point end) { add(blocked_, begin, end); }

  TraceWriter* trace() const { return trace_; }
  StageTimes times() const {
    return {std::string(name_), seconds(busy_), seconds(starved_), seconds(blocked_)};
  }

 private:
  using Nanoseconds = std::atomic<std::int64_t>;

  static void add(Nanoseconds& total, Clock::time_point begin, Clock::time_point end) {
    total += std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  }
  static double seconds(const Nanoseconds& total) {
    return 1e-9 * static_cast<double>(total.load());
  }

  std::string_view name_;
  TraceWriter* trace_;
  Nanoseconds busy_{0};
  Nanoseconds starved_{0};
  Nanoseconds blocked_{0};
};

/// Its life is busy time of the clock's stage.
class Busy {
 public:
  static constexpr std::size_t kMaxNotes = 6;

  explicit Busy(StageClock& clock) : clock_(clock), begin_(StageClock::Clock::now()) {}
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { end_piece(StageClock::Clock::now()); }

  /// A figure shown beside the span. @param name kept by reference until the end. @pre at most
  /// kMaxNotes; more are left out
  void note(std::string_view name, double value) {
    if (num_notes_ < kMaxNotes) notes_[num_notes_++] = {name, value};
  }

  /// While it lives the stage is not busy: another one works on its thread, or it waits.
  class Pause {
   public:
    explicit Pause(Busy& busy) : busy_(busy) {
      begin_ = StageClock::Clock::now();
      busy.end_piece(begin_);
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() { busy_.begin_ = StageClock::Clock::now(); }

    StageClock::Clock::time_point begin() const { return begin_; }

   private:
    Busy& busy_;
    StageClock::Clock::time_point begin_;
  };

 private:
  void end_piece(StageClock::Clock::time_point end) noexcept {
    try {
      clock_.count_busy(begin_, end, std::span(notes_).first(num_notes_));
    } catch (...) {  // no memory for a thread's name: the span is lost, the run goes on
    }
  }

  StageClock& clock_;
  StageClock::Clock::time_point begin_;
  std::array<TraceNote, kMaxNotes> notes_;
  std::size_t num_notes_ = 0;
};

}  // namespace sluice
