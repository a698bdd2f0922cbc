// Progress of long work on stderr: a bar on a terminal once 2 s have passed, a plain line now and
// then elsewhere.
#pragma once

#include <sluice/mutex.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice {

enum class ProgressStyle {
  kAuto,  ///< a bar when stderr is a terminal, else lines
  kSilent
};

/// Thread-safe. Ends its line when it dies.
class Progress {
 public:
  /// @param total 0 when unknown; `unit` is what is counted ("edges", "rows", "B" for bytes).
  Progress(ProgressStyle style, std::string label, std::uint64_t total, std::string unit);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void add(std::uint64_t amount);

 private:
  using Clock = std::chrono::steady_clock;
  void print(Clock::time_point now, bool last) SLUICE_REQUIRES(mutex_);
  std::string text(double elapsed_seconds) const SLUICE_REQUIRES(mutex_);

  enum class Mode { kBar, kLines, kSilent };
  Mode mode_;
  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  Clock::time_point start_;
  Mutex mutex_;
  std::uint64_t done_ SLUICE_GUARDED_BY(mutex_) = 0;
  Clock::time_point next_print_ SLUICE_GUARDED_BY(mutex_);
  bool printed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice
