// Epochs that follow each other, the next of which is prepared, where edges are on disk.
#include "planned_support.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("where edges are on disk epochs that follow each other begin with empty caches") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  const std::vector<Run> reference = in_memory(dir / "x", following(dir));
  for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kRepack, PlanChoice::kSweep}) {
    for (const std::uint64_t window_bytes : {kSmallWindows, kWholeTable}) {
      CAPTURE(static_cast<int>(plan));
      CAPTURE(window_bytes);
      if (sanitized(false, plan == PlanChoice::kAuto || window_bytes == kWholeTable)) continue;
      Setup setup = following(dir);
      setup.topology = Placement::kDisk;
      setup.plan = plan;
      setup.window_bytes = window_bytes;
      const std::vector<Run> runs = deliver_epochs(dir / "x", setup);
      for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
        CAPTURE(epoch);
        CHECK(runs[epoch].chain == reference[epoch].chain);
        const LoaderStats& stats = runs[epoch].stats;
        CHECK(prepared(stats) == (epoch > 0));
        if (plan == PlanChoice::kRepack) CHECK(stats.windows_packed == stats.windows);
        // As if it were planned when it comes.
        const Run alone = deliver(dir / "x", setup, {.epoch = epoch});
        CHECK(alone.stats.cache == stats.cache);
        CHECK(alone.stats.windows == stats.windows);
      }
    }
  }
}
