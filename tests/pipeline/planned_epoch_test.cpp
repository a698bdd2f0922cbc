// Epochs that are planned before their first mini-batch is delivered.
#include "planned_support.h"
#include "support/file_size_limit.h"

#include <chrono>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

// Of a table of 10 MB or half of that.
const std::uint64_t kSmall = sanitized(8 << 20, 4 << 20);

Setup planned(const TempDir& dir) {
  return planned_setup(dir, kSmall);
}

Run in_memory(const TempDir& dir, const Setup& setup, const LoaderStart& where = {}) {
  Setup memory = setup;
  memory.features = Placement::kMemory;
  return deliver(dir / "x", memory, where);
}

}  // namespace

TEST_CASE("an epoch that is planned is the same, whatever cache and plan") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  const Run reference = in_memory(dir, planned(dir));
  for (const char* cache : {"belady", "lru", "degree"}) {
    for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kRepack, PlanChoice::kSweep}) {
      for (const std::uint64_t window_bytes : {kSmall, kWholeTable}) {
        CAPTURE(cache);
        CAPTURE(static_cast<int>(plan));
        CAPTURE(window_bytes);
        Setup setup = planned(dir);
        setup.cache = cache;
        setup.plan = plan;
        setup.window_bytes = window_bytes;
        const Run run = deliver(dir / "x", setup);
        CHECK(run.chain == reference.chain);
        if (cache != std::string("belady") && plan != PlanChoice::kRepack) continue;
        CHECK(run.stats.plans.size() == 1);
        if (plan == PlanChoice::kRepack) CHECK(run.stats.windows_packed == run.stats.windows);
        // Each row that is missed is one that was asked for; what fits is missed once.
        const CacheCounts& counts = run.stats.cache;
        CHECK(counts.hits_window + counts.hits_kept + counts.misses_first + counts.misses_again ==
              counts.wanted);
        if (window_bytes == kWholeTable) CHECK(counts.misses_again == 0);
      }
    }
  }
}

TEST_CASE("what a planned epoch finds in the cache is counted, and more than without a plan") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  Setup setup = planned(dir);
  const Run whole = deliver(dir / "x", setup);
  REQUIRE(whole.stats.plans.size() == 1);
  // From a mini-batch near the end on.
  const std::size_t from = whole.chain.size() - 6;
  const Run rest = deliver(
      dir / "x", setup, {.epoch = 0, .first_batch = from, .batches_xxh3 = whole.chain[from - 1]});
  CHECK(rest.stats.plans.size() == 1);
  CHECK(rest.chain ==
        std::vector(whole.chain.begin() + static_cast<std::ptrdiff_t>(from), whole.chain.end()));
  // Knowing less of the future costs something.
  setup.scratch.clear();
  setup.plan = PlanChoice::kSweep;
  const Run unplanned = deliver(dir / "x", setup);
  const auto misses = [](const Run& run) {
    return run.stats.cache.misses_first + run.stats.cache.misses_again;
  };
  CHECK(misses(whole) < misses(unplanned));
}

TEST_CASE("several node types are planned, each for itself") {
  const TempDir dir;
  write_papers(dir / "x", sanitized(40'000, 20'000));
  for (const std::uint64_t window_bytes : {kSmall, kSmall / 2, kWholeTable}) {
    CAPTURE(window_bytes);
    Setup setup = planned(dir);
    setup.loader.fanout = {10, 5};
    setup.loader.batch_size = sanitized(64, 32);
    setup.window_bytes = window_bytes;
    const Run reference = in_memory(dir, setup);
    const Run run = deliver(dir / "x", setup);
    CHECK(run.chain == reference.chain);
    CHECK(run.stats.windows_packed == 2 * run.stats.windows);
    CHECK(run.stats.plans.size() == 2);
  }
}

TEST_CASE("stopping while an epoch is planned or has begun leaves nothing behind") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  const Setup setup = planned(dir);
  const Run reference = in_memory(dir, setup);
  with_loader(dir / "x", setup, [&](Loader& loader) {
    for (int round = 0; round < sanitized(20, 10); ++round) {
      CAPTURE(round);
      loader.start({});
      for (int i = 0; i < round % 5; ++i) REQUIRE(loader.next() != nullptr);
      std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
      loader.stop();
      CHECK(loader.next() == nullptr);
      loader.start({});
      std::size_t batches = 0;
      while (loader.next()) CHECK(loader.stats().batches_xxh3 == reference.chain[batches++]);
      CHECK(batches == reference.chain.size());
    }
  });
  // A loader that goes with all that is under way.
  with_loader(dir / "x", setup, [&](Loader& loader) {
    loader.start({});
    REQUIRE(loader.next() != nullptr);
  });
}

TEST_CASE("what planning an epoch has no room for is told before its first mini-batch") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  const Setup setup = planned(dir);
  const Run reference = in_memory(dir, setup);
  int refused = 0;
  bool whole = false;
  // Room for more and more of the scratch files: from some size on for all of them.
  for (std::uint64_t pages = 256; !whole; pages += pages / 2) {
    CAPTURE(pages);
    with_loader(dir / "x", setup, [&](Loader& loader) {
      const FileSizeLimit limit(pages * kPageBytes);
      std::size_t batches = 0;
      try {
        loader.start({});
        while (loader.next()) CHECK(loader.stats().batches_xxh3 == reference.chain[batches++]);
        CHECK(batches == reference.chain.size());
        whole = true;
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::kResource);
        CHECK(error.place().file.find(dir.path().string()) == 0);
        CHECK(batches == 0);
        ++refused;
      }
    });
  }
  CHECK(refused > 0);
}
