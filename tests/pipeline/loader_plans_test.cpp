// Plans and cache policies: the same mini-batches with all of them, and what the better ones save.
#include "loader_support.h"
#include "support/temp_dir.h"

#include <cstddef>

using namespace sluice;
using namespace sluice::test;

namespace {

SampleOptions four_thousand() {
  SampleOptions sample;
  sample.nodes = 4000;
  sample.edges = 40'000;
  sample.dim = 128;
  return sample;
}

std::uint64_t hits(const LoaderStats& stats) {
  return stats.cache.hits_window + stats.cache.hits_kept;
}

}  // namespace

TEST_CASE("larger windows and better caches read fewer bytes, never a wrong row") {
  const TempDir dir;
  write_sample(dir / "x", four_thousand());
  Setup one;
  one.loader = base_options();
  one.loader.window = 1;
  one.window_bytes = 3 << 19;  // three quarters of the table
  one.cache = "none";
  Setup many = one;
  many.loader.window = 32;
  many.window_bytes = 8 << 20;
  const Run narrow = deliver(dir / "x", one);
  const Run wide = deliver(dir / "x", many);
  CHECK(narrow.chain == wide.chain);
  CHECK(wide.stats.bytes_read < narrow.stats.bytes_read / 2);
  CHECK(wide.stats.cache.wanted < narrow.stats.cache.wanted);
  for (const std::string& policy : cache_names()) {
    if (policy == "none") continue;
    CAPTURE(policy);
    Setup cached = one;
    cached.cache = policy;
    const Run run = deliver(dir / "x", cached);
    CHECK(run.chain == narrow.chain);
    CHECK(hits(run.stats) > 0);
    // LRU and its like know nothing of random samples; the others must win.
    if (cached.cache == "belady" || cached.cache == "degree")
      CHECK(run.stats.bytes_read < narrow.stats.bytes_read);
  }
}

TEST_CASE(
    "every plan and cache policy delivers the same bits; an epoch plan leaves nothing behind") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns(kLoaderNodes));
  std::filesystem::create_directory(dir / "scratch");
  Setup setup;
  setup.loader = base_options();
  setup.features = Placement::kMemory;
  const Run reference = deliver(dir / "x", setup);
  setup.features = Placement::kDisk;
  setup.window_bytes = sanitized(300'000, 270'000);  // part of the table
  const std::size_t middle = reference.chain.size() / 2;
  const auto policies = sanitized<std::vector<std::string>>(cache_names(), {"belady", "clock"});
  for (const PlanChoice plan :
       {PlanChoice::kAuto, PlanChoice::kDirect, PlanChoice::kSweep, PlanChoice::kRepack}) {
    for (const std::string& policy : policies) {
      for (const IoChoice io : {IoChoice::kIoUring, IoChoice::kPread}) {
        for (const int bits : {0, 1, 2, 3}) {
          const bool planned = (bits & 1) != 0;
          CAPTURE(static_cast<int>(plan));
          CAPTURE(policy);
          CAPTURE(bits);
          Setup other = setup;
          other.plan = plan;
          other.topology = (bits & 2) != 0 ? Placement::kDisk : Placement::kMemory;
          other.topology_cache_bytes = 50'000;
          other.cache = policy;
          other.io = io;
          other.scratch = planned ? (dir / "scratch").string() : "";
          if (plan == PlanChoice::kRepack) other.window_bytes = 2 << 20;  // buffers for all runs
          const Run run = deliver(dir / "x", other);
          REQUIRE(run.chain == reference.chain);
          CHECK(run.stats.bytes_read > 0);
          if (plan == PlanChoice::kSweep) CHECK(run.stats.windows_swept == run.stats.windows);
          if (plan == PlanChoice::kDirect)
            CHECK(run.stats.windows_swept + run.stats.windows_packed == 0);
          if (plan == PlanChoice::kRepack && planned) {
            CHECK(run.stats.windows_packed == run.stats.windows);
            CHECK(run.stats.bytes_written > 0);
          }
          const Run rest = deliver(
              dir / "x",
              other,
              {.epoch = 0, .first_batch = middle, .batches_xxh3 = reference.chain[middle - 1]});
          CHECK(rest.chain ==
                std::vector(reference.chain.begin() + static_cast<std::ptrdiff_t>(middle),
                            reference.chain.end()));
        }
      }
    }
  }
  CHECK(std::filesystem::is_empty(dir / "scratch"));
}

TEST_CASE("knowing the epoch misses fewer rows than looking one window ahead") {
  const TempDir dir;
  write_sample(dir / "x", four_thousand());
  Setup ahead;
  ahead.loader = base_options();
  ahead.loader.window = 1;
  ahead.window_bytes = 1 << 20;
  Setup known = ahead;
  known.scratch = dir.path().string();
  const Run first = deliver(dir / "x", ahead);
  const Run second = deliver(dir / "x", known);
  CHECK(first.chain == second.chain);
  CHECK(hits(second.stats) > hits(first.stats));
  CHECK(second.stats.plans.size() == 1);
}

TEST_CASE("edges on disk are read once though an epoch is sampled ahead") {
  const TempDir dir;
  SampleOptions sample;
  sample.nodes = 4000;
  sample.edges = 80'000;
  sample.dim = 16;
  test::write_sample(dir / "x", sample);
  Setup setup;
  setup.loader = base_options();
  setup.loader.data_threads = 2;
  setup.topology = Placement::kDisk;
  setup.topology_cache_bytes = 0;
  setup.plan = PlanChoice::kDirect;
  setup.window_bytes = 600'000;
  const Run ahead = deliver(dir / "x", setup);
  setup.scratch = dir.path().string();
  const Run known = deliver(dir / "x", setup);
  CHECK(known.chain == ahead.chain);
  // The mini-batches went to disk and came back, and what was read of the edges did not double: the
  // pages of both, of few rows and of many edges, are mostly the edges'.
  CHECK(known.stats.bytes_written > 0);
  CHECK(known.stats.bytes_read - known.stats.bytes_written < ahead.stats.bytes_read * 5 / 4);
}
