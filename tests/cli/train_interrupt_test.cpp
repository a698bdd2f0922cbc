// Ctrl-C while an epoch is planned, before it.
#include "cli/interrupted.h"

using namespace sluice::test;
namespace fs = std::filesystem;

TEST_CASE("Ctrl-C while an epoch is planned leaves a checkpoint to go on from, and nothing else") {
  // With a dataset that is followed no epoch is prepared beside the one before.
  const Interrupted test("0.01", "dataset.follow = true");
  for (const std::ptrdiff_t epochs : {0, 1}) {
    CAPTURE(epochs);
    bool planning = false;
    for (int attempt = 0; attempt < 10 && !planning; ++attempt) {
      fs::remove_all(test.run_dir());
      Process process(test.command());
      if (wait_for_plan(process, test.run_dir(), epochs)) process.signal(SIGINT);
      const Outcome stopped = process.finish();
      if (stopped.code == 0) continue;  // it was quicker
      planning = stopped.err.find("interrupted in epoch " + std::to_string(epochs + 1) +
                                  " after 0 of ") != std::string::npos;
      if (!planning) continue;
      CHECK(fs::exists(test.run_dir() / "metrics.jsonl") == (epochs > 0));
      CHECK(resumed_after(test.check(stopped)) == 0);
    }
    CHECK(planning);
  }
}
