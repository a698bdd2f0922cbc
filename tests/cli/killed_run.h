// Runs that are killed in the middle of an epoch, and resumed.
#pragma once

#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice::test {

/// Until the run under way in a directory has written its last checkpoint anew so many times, or a
/// while has passed.
inline void wait_for_checkpoints(const std::filesystem::path& run_dir, int count) {
  const std::filesystem::path file = run_dir / "checkpoints/last.ckpt";
  std::error_code none;
  auto before = std::filesystem::last_write_time(file, none);
  for (int i = 0; i < 3000 && count > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto now = std::filesystem::last_write_time(file, none);
    if (now != before) --count;
    before = now;
  }
}

/// Kills a run whose checkpoints stand after each mini-batch, once its first epoch is over, and
/// resumes it, until one goes on from the middle of an epoch: a signal may come too late.
/// @param command begins the run; epochs have ten mini-batches or so
/// @param check shown the end of each that was resumed
template <class Check>
void run_killed(std::vector<std::string> command,
                const std::filesystem::path& run_dir,
                const Check& check) {
  command.insert(command.end(), {"--set", "train.checkpoint_minutes=1e-9"});
  for (int attempt = 0; attempt < 10; ++attempt) {
    CAPTURE(attempt);
    std::filesystem::remove_all(run_dir);
    Process process(command);
    wait_for_metric_lines(run_dir, 1);
    // The end of the epoch has one of its own, before or after its line.
    wait_for_checkpoints(run_dir, 3);
    process.signal(SIGKILL);
    const Outcome killed = process.finish();
    if (killed.code != -SIGKILL) {
      REQUIRE_MESSAGE(killed.code == 0, killed.err);
      continue;
    }
    const Outcome resumed = train({"resume", run_dir.string(), "--json"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    check(resumed);
    if (resumed_after(resumed.err) > 0) return;
  }
  FAIL("of ten runs none was killed in the middle of an epoch");
}

}  // namespace sluice::test
