// PeakMemory: the most anonymous memory this process held, sampled in the background, as the kernel
// keeps no such peak.
#pragma once

#include "core/cgroup.h"

#include <sluice/mutex.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <thread>

namespace sluice {

/// Samples /proc/self/status every 20 ms from construction to destruction.
class PeakMemory {
 public:
  PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  /// rss and anonymous as they are now, peak_rss from the kernel.
  ProcessMemory now() const { return read_process_memory(); }
  /// The largest RssAnon seen so far; peaks shorter than the sampling interval may be missed.
  std::uint64_t peak_anonymous();
  /// RssAnon at the construction: what code and libraries took before anything was done.
  std::uint64_t anonymous_at_start() const { return at_start_; }

 private:
  void sample();

  std::uint64_t at_start_ = read_process_memory().anonymous;
  std::atomic<std::uint64_t> peak_{0};
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread sampler_;  // last: it stops before what it uses goes
};

}  // namespace sluice
