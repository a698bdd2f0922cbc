// Snapshot caches through the whole pipeline: what is delivered depends on the mode's options
// alone.
#include "pipeline/loader_support.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::deliver;
using test::Run;
using test::sanitized;
using test::Setup;
using test::TempDir;

// Edges on disk without a page cache to speak of.
Setup from_disk(SnapshotMode mode, double hot = 0.3) {
  Setup setup;
  setup.loader = test::base_options();
  setup.topology = Placement::kDisk;
  setup.topology_cache_bytes = 0;
  setup.snapshot = {.mode = mode, .hot = hot, .alpha = 1, .period = 6, .gamma = 0.5};
  return setup;
}

struct Data {
  TempDir dir;
  std::filesystem::path path = dir / "x";
  Data() {
    test::SampleOptions sample;
    sample.nodes = sanitized<std::uint64_t>(3000, 800);
    sample.edges = 20 * sample.nodes;
    test::write_sample(path, sample);
  }
};

TEST_CASE("full delivers what no cache delivers, for any size, window, plan and threads") {
  const Data data;
  Setup plain = from_disk(SnapshotMode::kOff);
  const Run expected = deliver(data.path, plain);
  CHECK(expected.stats.snapshot.hits == 0);
  for (const double hot : {0.1, 0.3, 0.9}) {
    for (const SnapshotHotness hotness : {SnapshotHotness::kDegree, SnapshotHotness::kLookAhead}) {
      Setup setup = from_disk(SnapshotMode::kFull, hot);
      setup.snapshot.hotness = hotness;
      setup.loader.data_threads = hot < 0.2 ? 1 : 2;
      setup.window_bytes = hot < 0.5 ? 8 << 20 : 64 << 20;
      const Run run = deliver(data.path, setup);
      CHECK(run.chain == expected.chain);
      CHECK(run.stats.snapshot.hits > 0);
      CHECK(run.stats.snapshot.mean_age() == 0);
    }
  }
  const TempDir scratch;
  Setup planned = from_disk(SnapshotMode::kFull);
  planned.scratch = scratch.path().string();
  CHECK(deliver(data.path, planned).chain == expected.chain);
}

TEST_CASE("edges in memory need no full cache") {
  const Data data;
  Setup setup = from_disk(SnapshotMode::kFull);
  setup.topology = Placement::kMemory;
  const Run run = deliver(data.path, setup);
  CHECK(run.stats.snapshot.records == 0);
  CHECK(run.chain == deliver(data.path, from_disk(SnapshotMode::kOff)).chain);
}

TEST_CASE("approximate batches are the same from memory and disk, for any budget, plan and start") {
  const Data data;
  const auto off = deliver(data.path, from_disk(SnapshotMode::kOff));
  for (const SnapshotMode mode : {SnapshotMode::kRefresh, SnapshotMode::kOnTheFly}) {
    for (const SnapshotHotness hotness : {SnapshotHotness::kDegree, SnapshotHotness::kLookAhead}) {
      Setup setup = from_disk(mode);
      setup.snapshot.hotness = hotness;
      const Run expected = deliver(data.path, setup);
      CHECK(expected.chain != off.chain);
      CHECK(expected.stats.snapshot.hits > 0);
      CHECK(expected.stats.snapshot.mean_age() > 0);

      Setup other = setup;
      other.topology = Placement::kMemory;
      other.loader.data_threads = 1;
      CHECK(deliver(data.path, other).chain == expected.chain);
      other = setup;
      other.window_bytes = 4 << 20;
      other.io = IoChoice::kPread;
      other.topology_cache_bytes = 1 << 20;
      CHECK(deliver(data.path, other).chain == expected.chain);
      // Planned epochs are sampled ahead, and kept.
      const TempDir scratch;
      other = setup;
      other.scratch = scratch.path().string();
      CHECK(deliver(data.path, other).chain == expected.chain);

      const std::size_t half = expected.chain.size() / 2;
      const LoaderStart middle{
          .epoch = 0, .first_batch = half + 1, .batches_xxh3 = expected.chain[half]};
      CHECK(deliver(data.path, setup, middle).chain.back() == expected.chain.back());
    }
  }
}

TEST_CASE("evaluation draws from the graph itself, and training goes on from its records") {
  const Data data;
  const Run off = deliver(data.path, from_disk(SnapshotMode::kOff));
  Setup setup = from_disk(SnapshotMode::kRefresh);
  setup.loader.exact = true;
  CHECK(deliver(data.path, setup).chain == off.chain);

  MemoryLedger ledger(512 << 20);
  const Dataset dataset = Dataset::open(data.path.string(), {.ledger = &ledger});
  GraphDataOptions kept;
  kept.topology = Placement::kDisk;
  kept.snapshot = setup.snapshot;
  GraphData graph(dataset, kept, 0);
  const Array seeds = dataset.split("default").train;
  const LoaderOptions training = test::base_options();
  LoaderOptions evaluation = training;
  evaluation.exact = true;
  evaluation.fanout = {-1, -1};
  Loader train(graph, training, seeds, {64 << 20, 1 << 20}, ledger);
  Loader evaluate(graph, evaluation, seeds, {64 << 20, 1 << 20}, ledger);
  const auto all_of = [](Loader& loader, std::uint64_t epoch) {
    loader.start({.epoch = epoch});
    while (loader.next()) {
    }
    return loader.stats().batches_xxh3;
  };
  const std::uint64_t first = all_of(train, 1);
  (void)all_of(evaluate, 0);
  CHECK(all_of(train, 1) == first);
  CHECK(ledger.peak() <= ledger.limit());
}

TEST_CASE("a cache that cannot be is refused before anything is sampled") {
  const Data data;
  Setup setup = from_disk(SnapshotMode::kOnTheFly);
  setup.loader.fanout = {-1, 3};
  CHECK_THROWS_AS(deliver(data.path, setup), Error);
  setup = from_disk(SnapshotMode::kFull);
  setup.snapshot.bytes.bytes = std::uint64_t{1} << 40;
  CHECK_THROWS_AS(deliver(data.path, setup), Error);
}

}  // namespace
}  // namespace sluice
