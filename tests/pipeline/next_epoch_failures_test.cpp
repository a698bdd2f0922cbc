// An epoch that was prepared beside the one before, or should have been: what comes in its way.
#include "planned_support.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"

#include <sluice/array.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <ios>
#include <iterator>
#include <set>
#include <thread>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("an epoch that was prepared and does not come leaves nothing behind") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  SUBCASE("edges in memory") {}
  SUBCASE("edges on disk") {
    setup.topology = Placement::kDisk;
  }
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  with_loader(dir / "x", setup, [&](Loader& loader) {
    for (int round = 0; round < sanitized(12, 4); ++round) {
      CAPTURE(round);
      // Stopped at any point of an epoch or of preparing the next; or another one is started.
      loader.start({.epoch = 0, .next_follows = true});
      const std::size_t taken =
          round % 3 == 0 ? reference[0].chain.size() : 8 * static_cast<std::size_t>(round % 3);
      for (std::size_t i = 0; i < taken; ++i) REQUIRE(loader.next() != nullptr);
      if (round % 3 == 0) CHECK(loader.next() == nullptr);
      std::this_thread::sleep_for(std::chrono::microseconds(500 * round));
      if (round % 2 == 0) loader.stop();
      const std::uint64_t epoch = static_cast<std::uint64_t>(round / 3) % 3;
      const Run run = deliver_epoch(loader, {.epoch = epoch, .next_follows = round % 2 == 0});
      CHECK(run.chain == reference[epoch].chain);
    }
    // The one that follows, but not from its begin.
    const std::vector<std::uint64_t>& chain = reference[1].chain;
    CHECK(deliver_epoch(loader, {.epoch = 0, .next_follows = true}).chain == reference[0].chain);
    const Run rest =
        deliver_epoch(loader, {.epoch = 1, .first_batch = 20, .batches_xxh3 = chain[19]});
    CHECK(rest.chain == std::vector(chain.begin() + 20, chain.end()));
    // A loader that goes with all that is under way.
    loader.start({.epoch = 0, .next_follows = true});
    REQUIRE(loader.next() != nullptr);
  });
}

TEST_CASE("another loader of the data may come between, but not into an epoch") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  const Setup setup = following(dir);
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  MemoryLedger ledger(512 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphDataOptions kept;
  kept.plan = setup.plan;
  kept.scratch = setup.scratch;
  GraphData data(dataset, kept, 0);
  const LoaderMemory memory{setup.window_bytes, setup.queue_bytes};
  const auto split = dataset.split("default");
  Loader loader(data, setup.loader, split.train, memory, ledger);
  Loader other(data, setup.loader, split.valid, memory, ledger);
  const Run between = deliver_epoch(other, {.next_follows = true});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const Run run = deliver_epoch(loader, {.epoch = epoch, .next_follows = true});
    CHECK(run.chain == reference[epoch].chain);
    CHECK(!prepared(run.stats));
    CHECK(deliver_epoch(other, {.next_follows = true}).chain == between.chain);
  }
  loader.start({.next_follows = true});
  REQUIRE(loader.next() != nullptr);
  const Error error = expect_error([&] { other.start({}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.hint().find("stop()") != std::string::npos);
  std::size_t batches = 1;
  while (loader.next()) ++batches;
  CHECK(batches == reference[0].chain.size());
}

TEST_CASE("an epoch for which the disk has no room is planned when it comes") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  const Setup setup = following(dir);
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  // From nothing at all on: at some size for the mini-batches, but not for the rows.
  std::set<std::string> reasons;
  for (std::uint64_t pages = 1; pages < 2048; pages *= 4) {
    CAPTURE(pages);
    with_loader(dir / "x", setup, [&](Loader& loader) {
      loader.start({.epoch = 0, .next_follows = true});
      REQUIRE(loader.next() != nullptr);
      REQUIRE(loader.stats().plans.size() == 1);  // all of this epoch is on the disk
      {
        const FileSizeLimit limit(pages * kPageBytes);
        while (loader.next()) {
        }
        // It was prepared before the limit, or not at all: wait for it under the limit.
        std::this_thread::sleep_for(std::chrono::milliseconds(sanitized(300, 1000)));
      }
      const Run run = deliver_epoch(loader, {.epoch = 1});
      CHECK(run.chain == reference[1].chain);
      REQUIRE(!run.stats.plans.empty());
      if (!prepared(run.stats)) reasons.insert(run.stats.plans.back());
    });
  }
  REQUIRE(!reasons.empty());
  for (const std::string& reason : reasons)
    CHECK(reason.find("not prepared beside the epoch before: ") == 0);
}

TEST_CASE("what preparing an epoch meets is told when that epoch is due, not before") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  setup.loader.batch_size = 2;
  setup.loader.fanout = {1};
  setup.loader.hash = false;
  MemoryLedger ledger(512 << 20);
  // Few seeds, so that an epoch leaves parts of the table alone.
  Array seeds = Array::make(DType::kU64, {40}, &ledger, "seeds").or_throw();
  for (std::size_t i = 0; i < 40; ++i) seeds.as<std::uint64_t>()[i] = 401 * i;
  GraphDataOptions kept;
  kept.plan = setup.plan;
  kept.scratch = setup.scratch;
  const auto parts_of = [&](std::uint64_t epoch) {
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    GraphDataOptions memory;
    memory.features = Placement::kMemory;
    GraphData data(dataset, memory, 0);
    Loader loader(data, setup.loader, seeds, {kWholeTable, setup.queue_bytes}, ledger);
    loader.start({.epoch = epoch});
    std::set<std::uint64_t> parts;
    while (const auto batch = loader.next()) {
      for (const std::uint64_t id : batch->nodes[0].ids.as<std::uint64_t>())
        parts.insert(id * 256 / (64 << 10));
    }
    return parts;
  };
  const std::set<std::uint64_t> first = parts_of(0);
  std::vector<std::uint64_t> later;
  std::ranges::set_difference(parts_of(1), first, std::back_inserter(later));
  REQUIRE(!later.empty());
  const auto table_path = dir / "x" / "nodes" / "node" / "features.bin";
  {
    std::fstream file(table_path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(later.front() * (64 << 10) + 100));
    file.put('!');
    REQUIRE(file.good());
  }
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, kept, 0);
  Loader loader(data, setup.loader, seeds, {kWholeTable, setup.queue_bytes}, ledger);
  for (int round = 0; round < 2; ++round) {
    CHECK(deliver_epoch(loader, {.epoch = 0, .next_follows = true}).stats.batches == 20);
    const Error error = expect_error([&] { deliver_epoch(loader, {.epoch = 1}); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file.find("features.bin") != std::string::npos);
  }
}
