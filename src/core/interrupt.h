// Ctrl-C and SIGTERM as a flag that long work polls, so that it can stop at a clean place.
#pragma once

namespace sluice {

/// Installs handlers for SIGINT and SIGTERM while it lives; a second signal kills at once. One at a
/// time a process: signal dispositions are the process's own.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
};

/// True once a signal has come. Safe from any thread; false when no guard was ever installed.
bool interrupted() noexcept;

/// Throws ErrorCode::kInterrupted once a signal has come.
void throw_if_interrupted();

}  // namespace sluice
