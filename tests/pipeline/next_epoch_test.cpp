// Epochs that follow each other: the next is prepared while the one before is consumed, whatever
// keeps its rows.
#include "planned_support.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::uint64_t misses(const LoaderStats& stats) {
  return stats.cache.misses_first + stats.cache.misses_again;
}

}  // namespace

TEST_CASE("epochs that follow each other are the same, whatever cache and plan") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  const std::vector<Run> reference = in_memory(dir / "x", following(dir));
  for (const char* cache : {"belady", "lru", "degree"}) {
    for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kRepack, PlanChoice::kSweep}) {
      for (const std::uint64_t window_bytes : {kSmallWindows, kWholeTable}) {
        CAPTURE(cache);
        CAPTURE(static_cast<int>(plan));
        CAPTURE(window_bytes);
        if (sanitized(false, plan == PlanChoice::kAuto || window_bytes == kWholeTable)) continue;
        Setup setup = following(dir);
        setup.cache = cache;
        setup.plan = plan;
        setup.window_bytes = window_bytes;
        const std::vector<Run> runs = deliver_epochs(dir / "x", setup);
        for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
          CAPTURE(epoch);
          CHECK(runs[epoch].chain == reference[epoch].chain);
          const LoaderStats& stats = runs[epoch].stats;
          const std::string last_plan = stats.plans.empty() ? "" : stats.plans.back();
          CAPTURE(last_plan);
          const bool planned = cache == std::string("belady") || plan == PlanChoice::kRepack;
          CHECK(prepared(stats) == (planned && epoch > 0));
          if (plan == PlanChoice::kRepack) CHECK(stats.windows_packed == stats.windows);
          CHECK(stats.cache.hits_window + stats.cache.hits_kept + misses(stats) ==
                stats.cache.wanted);
          // What an epoch leaves in the cache the next one finds.
          if (planned && epoch > 0) CHECK(misses(stats) < misses(runs[0].stats));
          if (planned && window_bytes == kWholeTable) CHECK(stats.cache.misses_again == 0);
        }
      }
    }
  }
}

TEST_CASE("several node types are prepared for the next epoch, each for itself") {
  const TempDir dir;
  write_papers(dir / "x", sanitized(20'000, 10'000));
  Setup setup = following(dir);
  setup.loader.batch_size = sanitized(64, 32);
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  const std::vector<Run> runs = deliver_epochs(dir / "x", setup);
  for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
    CAPTURE(epoch);
    CHECK(runs[epoch].chain == reference[epoch].chain);
    CHECK(runs[epoch].stats.windows_packed == 2 * runs[epoch].stats.windows);
    if (epoch > 0) CHECK(runs[epoch].stats.plans.size() == 2);
    CHECK(prepared(runs[epoch].stats) == (epoch > 0));
  }
}
