#include "core/interrupt.h"

#include <sluice/error.h>

#include <signal.h>

#include <csignal>

namespace sluice {
namespace {

// A signal handler can reach nothing but a static flag.
volatile std::sig_atomic_t g_signalled = 0;

extern "C" void on_signal(int number) {
  if (g_signalled != 0) {
    (void)std::signal(number, SIG_DFL);
    (void)std::raise(number);
  }
  g_signalled = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_signalled = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGINT, &action, nullptr);  // fails on an invalid number only
  (void)sigaction(SIGTERM, &action, nullptr);
  // A write beyond `ulimit -f` is an error that names its file, not the end. It stays so.
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

InterruptGuard::~InterruptGuard() {
  (void)std::signal(SIGINT, SIG_DFL);
  (void)std::signal(SIGTERM, SIG_DFL);
}

bool interrupted() noexcept {
  return g_signalled != 0;
}

void throw_if_interrupted() {
  if (interrupted()) {
    throw Error(ErrorCode::kInterrupted,
                "interrupted",
                "nothing half-written was left; run the command again");
  }
}

}  // namespace sluice
