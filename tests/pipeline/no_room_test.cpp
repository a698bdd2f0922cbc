// Epochs that are planned, and what comes of it where the disk has no room.
#include "loader_support.h"
#include "storage/io/disk_profile.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

#include <filesystem>

using namespace sluice;
using namespace sluice::test;

namespace {

// A disk on which a request costs much and a byte little: repacking is always cheapest.
std::shared_ptr<const DiskProfile> slow_to_seek() {
  DiskRates rates;
  rates.read_seconds = {10e-3, 10e-3, 10e-3, 10e-3, 10e-3};
  rates.sequential_read = 10e9;
  rates.sequential_write = 10e9;
  return std::make_shared<const DiskProfile>(rates);
}

}  // namespace

TEST_CASE(
    "where the disk has no room for repacked rows an epoch is read window by window, says so, "
    "and delivers the same bits") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  std::filesystem::create_directory(dir / "scratch");
  Setup setup;
  setup.loader = base_options();
  setup.features = Placement::kMemory;
  const Run reference = deliver(dir / "x", setup);
  setup.features = Placement::kDisk;
  setup.window_bytes = sanitized(800'000, 280'000);  // less than the table: some rows go to disk
  setup.scratch = (dir / "scratch").string();
  setup.disk = slow_to_seek();
  for (const IoChoice io : {IoChoice::kAuto, IoChoice::kPread}) {
    setup.io = io;
    setup.plan = PlanChoice::kAuto;
    const Run packed = deliver(dir / "x", setup);
    CHECK(packed.chain == reference.chain);
    REQUIRE(packed.stats.windows_packed == packed.stats.windows);

    // Room for the plan's lists, and not for the rows.
    const FileSizeLimit limit(sanitized(98, 30) * 4096);  // whole pages, as a full disk's end is
    const Run run = deliver(dir / "x", setup);
    CHECK(run.chain == reference.chain);
    CHECK(run.stats.windows_packed == 0);
    CHECK(run.stats.cache == packed.stats.cache);
    REQUIRE(run.stats.plans.size() == packed.stats.plans.size());
    for (const std::string& plan : run.stats.plans) {
      CAPTURE(plan);
      CHECK(plan.find("; not repacked after all: cannot ") != std::string::npos);
    }
    const Run rest = deliver(
        dir / "x", setup, {.epoch = 0, .first_batch = 10, .batches_xxh3 = reference.chain[9]});
    CHECK(rest.chain == std::vector(reference.chain.begin() + 10, reference.chain.end()));

    // Who asked for repacking is told.
    setup.plan = PlanChoice::kRepack;
    const Error error = expect_error([&] { (void)deliver(dir / "x", setup); });
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.place().file.find((dir / "scratch").string()) == 0);
  }
  CHECK(std::filesystem::is_empty(dir / "scratch"));
}
