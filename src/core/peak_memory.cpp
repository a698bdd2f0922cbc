#include "core/peak_memory.h"

#include <chrono>
#include <stop_token>

namespace sluice {

PeakMemory::PeakMemory() {
  sample();
  sampler_ = std::jthread([this](const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
      sample();
    }
  });
}

std::uint64_t PeakMemory::peak_anonymous() {
  sample();
  return peak_;
}

void PeakMemory::sample() {
  const std::uint64_t anonymous = read_process_memory().anonymous;
  std::uint64_t seen = peak_;
  while (anonymous > seen && !peak_.compare_exchange_weak(seen, anonymous)) {
  }
}

}  // namespace sluice
