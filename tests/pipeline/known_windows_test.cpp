// Windows of epochs that are planned: they hold no mini-batches, which are brought one by one.
#include "loader_support.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

using namespace sluice;
using namespace sluice::test;

namespace {

Setup planned(const TempDir& dir) {
  Setup setup;
  setup.loader = base_options();
  setup.loader.batch_size = 32;
  setup.window_bytes = sanitized(1'000'000, 320'000);  // less than the table
  setup.plan = PlanChoice::kDirect;
  setup.scratch = dir.path().string();
  return setup;
}

std::uint64_t cache_rows(const std::filesystem::path& path, const Setup& setup) {
  std::uint64_t rows = 0;
  with_loader(path, setup, [&](Loader& loader) { rows = loader.forecast(60).cache_rows; });
  return rows;
}

}  // namespace

TEST_CASE("what mini-batches of planned windows do not take is the cache's") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  Setup setup = planned(dir);
  setup.loader.batch_size = sanitized(32, 8);  // so small that a window holds several
  const std::uint64_t known = cache_rows(dir / "x", setup);
  setup.scratch.clear();
  const std::uint64_t unknown = cache_rows(dir / "x", setup);
  CAPTURE(unknown);
  CHECK(known > unknown + unknown / 10);
}

TEST_CASE(
    "mini-batches for which the disk has no room are sampled again as they are delivered, and are "
    "the same") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  Setup setup = planned(dir);
  setup.features = Placement::kMemory;
  const Run reference = deliver(dir / "x", setup);
  setup.features = Placement::kDisk;
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    CAPTURE(static_cast<int>(topology));
    setup.topology = topology;
    const Run kept = deliver(dir / "x", setup);
    CHECK(kept.chain == reference.chain);
    REQUIRE(kept.stats.windows > 4);
    int in_part = 0;
    for (std::uint64_t pages = 8; pages < 4096; pages += pages / 2) {
      CAPTURE(pages);
      const FileSizeLimit limit(pages * kPageBytes);
      Run run;
      try {
        run = deliver(dir / "x", setup);
      } catch (const Error& error) {  // no room for the lists
        CHECK(error.code() == ErrorCode::kResource);
        CHECK(in_part == 0);
        continue;
      }
      CHECK(run.chain == reference.chain);
      CHECK(run.stats.cache == kept.stats.cache);
      if (run.stats.bytes_written == kept.stats.bytes_written) break;
      CHECK(run.stats.bytes_written < kept.stats.bytes_written);
      ++in_part;
    }
    CHECK(in_part > 1);
  }
}
