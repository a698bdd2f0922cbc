// What sampling an epoch ahead does with the memory there is, where edges are on disk.
#include "loader_support.h"

#include "pipeline/stream/lent_staging.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

namespace sluice {
namespace {

using namespace test;

// More edges than fit beside what a group is sampled in.
void write_edges(const std::filesystem::path& path) {
  SampleOptions sample;
  sample.nodes = 4000;
  sample.edges = 800'000;
  sample.dim = 16;
  write_sample(path, sample);
}

Setup edges_on_disk(const TempDir& dir, Placement topology) {
  Setup setup;
  setup.loader = base_options();
  setup.loader.batch_size = 64;
  setup.loader.data_threads = 2;
  setup.topology = topology;
  setup.topology_cache_bytes = 0;
  setup.plan = PlanChoice::kDirect;
  setup.window_bytes = 19 << 20;
  setup.scratch = dir.path().string();
  return setup;
}

TEST_CASE("where there is less room than the plan said, fewer mini-batches share their reads") {
  const TempDir dir;
  write_edges(dir / "x");
  const Run memory = deliver(dir / "x", edges_on_disk(dir, Placement::kMemory));
  Setup setup = edges_on_disk(dir, Placement::kDisk);
  const Run roomy = deliver(dir / "x", setup);
  CHECK(roomy.chain == memory.chain);
  std::uint64_t most = roomy.stats.bytes_read;
  int refused = 0;
  for (setup.ledger_bytes = 1 << 20;;
       setup.ledger_bytes += sanitized<std::uint64_t>(1 << 20, 2 << 20)) {
    CAPTURE(setup.ledger_bytes);
    std::optional<Run> tight;
    try {
      tight = deliver(dir / "x", setup);
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::kResource);
      ++refused;
      continue;
    }
    REQUIRE(tight->chain == memory.chain);
    most = std::max(most, tight->stats.bytes_read);
    if (tight->stats.bytes_read == roomy.stats.bytes_read) break;
    REQUIRE(setup.ledger_bytes < (512 << 20));
  }
  CHECK(refused > 0);
  CHECK(most > roomy.stats.bytes_read * 11 / 10);
}

TEST_CASE("larger read buffers are lent to edges on disk alone, where they are larger") {
  const TempDir dir;
  write_edges(dir / "x");
  MemoryLedger ledger(64 << 20);
  {
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    const auto open = [&](Placement where) {
      return dataset.topology(dataset.schema().relations.front().key(),
                              {.placement = where, .staging_bytes = 1 << 20, .cache_bytes = 0});
    };
    const std::vector<std::shared_ptr<Topology>> memory{open(Placement::kMemory)};
    CHECK(LentStaging::bytes_each(memory, 8 << 20) == 0);
    CHECK(LentStaging::bytes_of(memory, 8 << 20) == 0);
    const std::vector<std::shared_ptr<Topology>> two{
        open(Placement::kDisk), memory.front(), open(Placement::kDisk)};
    CHECK(LentStaging::bytes_each(two, 8 << 20) == 4 << 20);
    CHECK(LentStaging::bytes_of(two, 4 << 20) == 16 << 20);
    CHECK(LentStaging::bytes_each(two, 2 << 20) == 0);  // as much as they have
    const std::uint64_t before = ledger.used();
    {
      const LentStaging lent(two, 4 << 20);
      CHECK(ledger.used() == before + (8 << 20));
    }
    CHECK(ledger.used() == before);
    // Where there is room for one alone none has it.
    const Charge rest = ledger.charge("rest", ledger.available() - (5 << 20)).or_throw();
    CHECK(expect_error([&] { const LentStaging lent(two, 4 << 20); }).code() ==
          ErrorCode::kResource);
    CHECK(ledger.available() == 5 << 20);
  }
  CHECK(ledger.used() == 0);
}

}  // namespace
}  // namespace sluice
