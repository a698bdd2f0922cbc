// Loaders whose sampling and consumer take turns in memory.
#include "pipeline/data/graph_data_state.h"
#include "planned_support.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"

#include <chrono>
#include <memory>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

// A loader for training and one for validation, of one set of data.
struct InTurns {
  InTurns(const std::filesystem::path& path, const Setup& setup)
      : dataset(Dataset::open(path.string(), {.ledger = &ledger})),
        data(dataset, data_options(setup), 0),
        loader(data, setup.loader, dataset.split("default").train, memory_of(setup), ledger),
        other(data, setup.loader, dataset.split("default").valid, memory_of(setup), ledger) {}

  static LoaderMemory memory_of(const Setup& setup) {
    return {.window_bytes = setup.window_bytes, .queue_bytes = 0, .in_turns = true};
  }

  std::uint64_t charged(const std::string& name) const {
    for (const MemoryLedger::Entry& entry : ledger.entries()) {
      if (entry.name == name) return entry.bytes;
    }
    return 0;
  }

  // Positions of edges on disk that were asked for; not where all edges were read for sampling.
  std::uint64_t asked() {
    std::uint64_t sum = 0;
    for (const auto& topology : data.state().graph.relations) sum += topology->stats().positions;
    return sum;
  }

  // Of an epoch. Looks at the ledger while it has a mini-batch, long enough for another to come.
  Run deliver(const LoaderStart& where) {
    Run run;
    loader.start(where);
    while (const std::shared_ptr<const Batch> batch = loader.next()) {
      if (run.chain.size() % 8 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(charged("sampler workspace") == 0);
      CHECK(2 * charged("batch features") < 3 * batch->features(0).bytes());
      run.chain.push_back(loader.stats().batches_xxh3);
    }
    run.stats = loader.stats();
    return run;
  }

  MemoryLedger ledger{512 << 20};
  Dataset dataset;
  GraphData data;
  Loader loader;
  Loader other;
};

}  // namespace

TEST_CASE("in turns epochs are the same, with one mini-batch at a time and no sampling beside it") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    for (const char* cache : {"belady", "lru"}) {
      CAPTURE(static_cast<int>(topology));
      CAPTURE(cache);
      const bool instrumented = topology == Placement::kDisk && cache == std::string("belady");
      if (sanitized(false, !instrumented)) continue;
      setup.topology = topology;
      setup.cache = cache;
      InTurns turns(dir / "x", setup);
      const Run between = deliver_epoch(turns.other, {});
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        CAPTURE(epoch);
        const std::uint64_t before = turns.asked();
        const Run run =
            turns.deliver({.epoch = epoch, .next_follows = true, .others_between = epoch == 1});
        CHECK(run.chain == reference[epoch].chain);
        CHECK(!prepared(run.stats));
        // Memory is sized by a mini-batch that is sampled once, beside the epochs.
        if (topology == Placement::kDisk) CHECK((turns.asked() != before) == (epoch == 0));
        CHECK(run.stats.windows_packed == run.stats.windows);
        if (epoch == 1) CHECK(deliver_epoch(turns.other, {}).chain == between.chain);
      }
      // From its last mini-batch on, and stopped in the middle.
      const std::vector<std::uint64_t>& chain = reference[0].chain;
      const std::size_t last = chain.size() - 1;
      CHECK(turns.deliver({.first_batch = last, .batches_xxh3 = chain[last - 1]}).chain ==
            std::vector{chain[last]});
      turns.loader.start({});
      REQUIRE(turns.loader.next() != nullptr);
      turns.loader.stop();
      CHECK(turns.loader.next() == nullptr);
    }
  }
}

TEST_CASE("in turns every epoch must be planned and kept") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  std::filesystem::create_directory(dir / "scratch");
  Setup setup = following(dir);
  setup.plan = PlanChoice::kAuto;
  setup.scratch = (dir / "scratch").string();
  // From room for nothing on: at some size for all but the sampled mini-batches.
  bool of_batches = false;
  for (std::uint64_t pages = 16; pages < 4096; pages *= 2) {
    CAPTURE(pages);
    InTurns turns(dir / "x", setup);
    const FileSizeLimit limit(pages * kPageBytes);
    try {
      turns.loader.start({});
      while (turns.loader.next()) {
      }
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kResource);
      CHECK((error.message() + error.place().file).find(setup.scratch) != std::string::npos);
      const bool now =
          error.message().find("sampled mini-batches of an epoch") != std::string::npos;
      of_batches = of_batches || now;
    }
  }
  CHECK(of_batches);
  CHECK(std::filesystem::is_empty(setup.scratch));
  setup.cache = "lru";
  {
    InTurns turns(dir / "x", setup);
    CHECK(expect_error([&] { turns.loader.start({}); }).code() == ErrorCode::kUsage);
  }
  setup.cache = "belady";
  setup.scratch.clear();
  InTurns turns(dir / "x", setup);
  CHECK(expect_error([&] { turns.loader.start({}); }).hint().find("scratch") != std::string::npos);
}
