// Epochs that are planned in two parts, the second beside training.
#include "planned_support.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"

#include <sluice/array.h>

#include <chrono>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

// Of a table of 10 MB or half of that.
const std::uint64_t kSmall = sanitized(8 << 20, 4 << 20);

Setup in_parts(const TempDir& dir) {
  return planned_setup(dir, kSmall);
}

Run in_memory(const TempDir& dir, const Setup& setup, const LoaderStart& where = {}) {
  Setup memory = setup;
  memory.features = Placement::kMemory;
  return deliver(dir / "x", memory, where);
}

}  // namespace

TEST_CASE("an epoch that is planned in two parts is the same, whatever cache and plan") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  const Run reference = in_memory(dir, in_parts(dir));
  for (const char* cache : {"belady", "lru", "degree"}) {
    for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kRepack, PlanChoice::kSweep}) {
      for (const std::uint64_t window_bytes : {kSmall, kWholeTable}) {
        CAPTURE(cache);
        CAPTURE(static_cast<int>(plan));
        CAPTURE(window_bytes);
        Setup setup = in_parts(dir);
        setup.cache = cache;
        setup.plan = plan;
        setup.window_bytes = window_bytes;
        const Run run = deliver(dir / "x", setup);
        CHECK(run.chain == reference.chain);
        if (cache != std::string("belady") && plan != PlanChoice::kRepack) continue;
        REQUIRE(run.stats.plans.size() == 2);
        CHECK(run.stats.plans[1].find("from window ") == 0);
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

TEST_CASE("what the second part finds in the cache is counted and read as one part would") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  Setup setup = in_parts(dir);
  const Run parts = deliver(dir / "x", setup);
  REQUIRE(parts.stats.plans.size() == 2);
  // From a mini-batch near the end on: too few are left for two parts.
  const std::size_t from = parts.chain.size() - 6;
  const Run rest = deliver(
      dir / "x", setup, {.epoch = 0, .first_batch = from, .batches_xxh3 = parts.chain[from - 1]});
  CHECK(rest.stats.plans.size() == 1);
  CHECK(rest.chain ==
        std::vector(parts.chain.begin() + static_cast<std::ptrdiff_t>(from), parts.chain.end()));
  // Knowing less of the future costs something, but not much.
  setup.scratch.clear();
  setup.plan = PlanChoice::kSweep;
  const Run unplanned = deliver(dir / "x", setup);
  const auto misses = [](const Run& run) {
    return run.stats.cache.misses_first + run.stats.cache.misses_again;
  };
  CHECK(misses(parts) < misses(unplanned));
}

TEST_CASE("several node types are planned in two parts, each for itself") {
  const TempDir dir;
  write_papers(dir / "x", sanitized(40'000, 20'000));
  for (const std::uint64_t window_bytes : {kSmall, kSmall / 2, kWholeTable}) {
    CAPTURE(window_bytes);
    Setup setup = in_parts(dir);
    setup.loader.fanout = {10, 5};
    setup.loader.batch_size = sanitized(64, 32);
    setup.window_bytes = window_bytes;
    const Run reference = in_memory(dir, setup);
    const Run run = deliver(dir / "x", setup);
    CHECK(run.chain == reference.chain);
    CHECK(run.stats.windows_packed == 2 * run.stats.windows);
    REQUIRE(run.stats.plans.size() == 4);
    CHECK(run.stats.plans[2].find("from window ") == 0);
    CHECK(run.stats.plans[3].find("from window ") == 0);
  }
}

TEST_CASE("stopping while the second part is planned leaves nothing behind") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  const Setup setup = in_parts(dir);
  const Run reference = in_memory(dir, setup);
  with_loader(dir / "x", setup, [&](Loader& loader) {
    for (int round = 0; round < sanitized(20, 10); ++round) {
      CAPTURE(round);
      loader.start({});
      for (int i = 0; i <= round % 5; ++i) REQUIRE(loader.next() != nullptr);
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

TEST_CASE("what stops the second part is told when its first window is due, not before") {
  const TempDir dir;
  write_sample(dir / "x", planned_table());
  Setup setup = in_parts(dir);
  const Run reference = in_memory(dir, setup);
  bool between = false;
  // Room for more and more of the scratch files: at some size for the first part alone.
  for (std::uint64_t pages = 1024; pages < 8192 && !between; pages += pages / 8) {
    CAPTURE(pages);
    with_loader(dir / "x", setup, [&](Loader& loader) {
      const FileSizeLimit limit(pages * kPageBytes);
      std::size_t batches = 0;
      try {
        loader.start({});
        while (loader.next()) CHECK(loader.stats().batches_xxh3 == reference.chain[batches++]);
        CHECK(batches == reference.chain.size());
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::kResource);
        CHECK(error.place().file.find(dir.path().string()) == 0);
        between = batches > 0;
      }
    });
  }
  CHECK(between);
}
