// Epochs that another loader of the data comes between, as a validation does: the next is prepared
// all the same.
#include "loader_pair.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("what was prepared outlives another loader between, and begins with empty caches") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kRepack, PlanChoice::kSweep}) {
      CAPTURE(static_cast<int>(topology));
      CAPTURE(static_cast<int>(plan));
      const bool instrumented =
          topology == Placement::kMemory ? plan == PlanChoice::kRepack : plan == PlanChoice::kSweep;
      if (sanitized(false, !instrumented)) continue;
      setup.topology = topology;
      setup.plan = plan;
      LoaderPair pair(dir / "x", setup, setup.window_bytes);
      const Run between = deliver_epoch(pair.other, {});
      const Run single = deliver_epoch(pair.single, {});
      for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
        CAPTURE(epoch);
        const Run run = deliver_epoch(pair.loader, with_others_between(epoch));
        CHECK(run.chain == reference[epoch].chain);
        const std::string last_plan = run.stats.plans.empty() ? "" : run.stats.plans.back();
        CAPTURE(last_plan);
        // Edges on disk would have to be sampled before this epoch: that is left to the next one.
        CHECK(prepared(run.stats) == (epoch > 0 && topology == Placement::kMemory));
        if (epoch > 0) {
          const Run alone = deliver(dir / "x", setup, {.epoch = epoch});
          CHECK(alone.stats.cache.wanted == run.stats.cache.wanted);
        }
        // One of a mini-batch, several, and one that prepares an epoch itself.
        if (epoch != 1) CHECK(deliver_epoch(pair.single, {}).chain == single.chain);
        for (std::uint64_t i = 0; i < epoch; ++i)
          CHECK(deliver_epoch(pair.other, {.next_follows = i == 2}).chain == between.chain);
        // What it leaves in the caches gives way to the next epoch.
        CHECK(deliver_epoch(pair.single, {}).chain == single.chain);
      }
      // After those that others come between, one that goes on straight away.
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        CAPTURE(epoch);
        LoaderStart where = with_others_between(epoch);
        where.next_follows = true;
        where.others_between = epoch == 0;
        const Run run = deliver_epoch(pair.loader, where);
        CHECK(run.chain == reference[epoch].chain);
        const std::string last_plan = run.stats.plans.empty() ? "" : run.stats.plans.back();
        CAPTURE(last_plan);
        CHECK(prepared(run.stats) == (epoch > (topology == Placement::kMemory ? 0 : 1)));
        if (epoch == 0) CHECK(deliver_epoch(pair.other, {}).chain == between.chain);
      }
    }
  }
}
