// Scratch files on a disk that is nearly full: what is kept for later is in nobody's way. Needs the
// right to make a mount namespace; reports itself skipped (77) without.
#include "pipeline/plan/epoch_lists.h"
#include "pipeline/stream/batch_spool.h"

#include "loader_support.h"
#include "support/own_mounts.h"
#include "support/temp_dir.h"

#include <sluice/units.h>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("scratch files are kept while twice as much stays free, and make way") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "disk", "size=16m");
  ScratchFiles files;
  std::shared_ptr<File> one = files.take(dir / "disk", 4 * kMiB);
  std::shared_ptr<File> two = files.take(dir / "disk", 4 * kMiB);
  CHECK(disk.used_bytes() == 8 * kMiB);
  const std::weak_ptr<File> first = one, second = two;
  files.give_back(std::move(one));
  files.give_back(std::move(two));
  CHECK_FALSE(first.expired());
  // The second may not be kept any more: its room is there for who waits for it.
  const std::shared_ptr<File> most = files.take(dir / "disk", 14 * kMiB);
  CHECK(most == first.lock());
  CHECK(second.expired());
  CHECK(disk.used_bytes() == 14 * kMiB);
}

TEST_CASE("scratch files that were kept make way when others have filled the disk since") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "disk", "size=16m");
  std::filesystem::create_directory(dir / "disk" / "sub");
  ScratchFiles files;
  std::shared_ptr<File> one = files.take(dir / "disk", 2 * kMiB);
  std::shared_ptr<File> two = files.take(dir / "disk", 2 * kMiB);
  const std::weak_ptr<File> first = one, second = two;
  files.give_back(std::move(one));
  files.give_back(std::move(two));
  File other = File::scratch(dir / "disk").or_throw();
  REQUIRE(other.reserve(6 * kMiB).ok());
  const std::shared_ptr<File> held = files.take(dir / "disk", kMiB);
  CHECK(held == first.lock());
  CHECK_FALSE(second.expired());  // 6 MiB are free
  REQUIRE(other.reserve(11 * kMiB).ok());
  const std::shared_ptr<File> elsewhere = files.take(dir / "disk" / "sub", 0);
  CHECK(second.expired());  // 2 MiB were
  CHECK(disk.used_bytes() == 12 * kMiB);
}

TEST_CASE("mini-batches that find no room on the disk take that of scratch files which are kept") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "disk", "size=8m");
  MemoryLedger ledger;
  const auto files = std::make_shared<ScratchFiles>();
  {
    std::shared_ptr<File> small = files->take(dir / "disk", kMiB);
    std::shared_ptr<File> large = files->take(dir / "disk", kMiB + kMiB / 4);
    files->give_back(std::move(small));
    files->give_back(std::move(large));
  }
  CHECK(disk.used_bytes() == 2 * kMiB + kMiB / 4);
  BatchSpool spool(dir / "disk", 0, ledger, files);
  const auto batch = [](std::uint64_t index) {
    Batch made;
    made.epoch = 1;
    made.index = index;
    made.seeds = {Array::make(DType::kU64, {32 * 1024}).or_throw()};
    for (std::uint64_t& seed : made.seeds[0].as<std::uint64_t>()) seed = index++;
    return made;
  };
  // 7.5 MiB: the larger of the two is in the way.
  constexpr std::uint64_t kBatches = 29;
  for (std::uint64_t i = 0; i < kBatches; ++i) spool.append(batch(i), {});
  spool.finish();
  CHECK(spool.bytes_written() > 7 * kMiB);
  CHECK(disk.used_bytes() == spool.bytes_written());
  for (std::uint64_t i = 0; i < kBatches; ++i)
    CHECK(hash_batch(spool.read(i).batch) == hash_batch(batch(i)));
}

TEST_CASE("what is noted of windows has its room on the disk from the time they are sampled") {
  need_own_mounts();
  const TempDir dir;
  const Mount disk(dir / "disk", "size=4m");
  constexpr std::uint64_t kRows = 20'000;
  constexpr std::uint64_t kWindows = 3;
  constexpr std::uint64_t kNoted =
      4 + 2 + 4 + 4 + 4;  // bytes a row: ids, next uses, places, misses
  EpochLists lists(dir / "disk", kWindows * kRows);
  std::vector<std::uint64_t> ids(kRows);
  for (std::uint64_t& id : ids) id = static_cast<std::uint64_t>(&id - ids.data());
  for (std::uint64_t w = 0; w < kWindows; ++w) lists.add_window(ids);
  CHECK(disk.used_bytes() >= kWindows * kRows * kNoted);
  CHECK(disk.used_bytes() <= kWindows * kRows * kNoted + 5 * kPageBytes);

  File other = File::scratch(dir / "disk").or_throw();
  REQUIRE(other.reserve(4 * kMiB - disk.used_bytes()).ok());
  REQUIRE_FALSE(other.reserve(4 * kMiB).ok());
  MemoryLedger ledger;
  lists.find_next_uses(kMiB, ledger, [] {});
  const std::vector<std::uint32_t> places(kRows, 7);
  const std::vector<WantedRow> missing(kRows / 4, WantedRow{5, 7});
  for (EpochLists::Step& step : lists.steps) {
    lists.places.append(places);
    step.first_missing = lists.missing.ids.size();
    step.missing = missing.size();
    lists.missing.append(missing);
  }
  lists.give_back_room();
  CHECK(4 * kMiB - disk.used_bytes() >= kWindows * kRows / 4 * 3 * 8 - 2 * kPageBytes);
  std::vector<std::uint32_t> next;
  lists.read_next_uses(lists.steps[1], next);
  CHECK(next == std::vector<std::uint32_t>(kRows, 3));
  std::vector<WantedRow> wanted;
  lists.read_missing(lists.steps[2], wanted);
  CHECK(wanted.size() == missing.size());
}

TEST_CASE("a disk without room for an epoch's mini-batches has it for the plan's lists") {
  need_own_mounts();
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  Setup setup;
  setup.loader = base_options();
  setup.window_bytes = sanitized(1'000'000, 320'000);  // less than the table
  setup.plan = PlanChoice::kDirect;
  setup.features = Placement::kMemory;
  const Run reference = deliver(dir / "x", setup);
  setup.features = Placement::kDisk;
  setup.scratch = (dir / "disk").string();
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    CAPTURE(static_cast<int>(topology));
    setup.topology = topology;
    Run roomy;
    {
      const Mount disk(dir / "disk", "size=64m");
      roomy = deliver(dir / "x", setup);
      CHECK(roomy.chain == reference.chain);
    }
    const std::string half = "size=" + std::to_string(roomy.stats.bytes_written / 2);
    const Mount disk(dir / "disk", half.c_str());
    const Run run = deliver(dir / "x", setup);
    CHECK(run.chain == reference.chain);
    CHECK(run.stats.cache == roomy.stats.cache);
    CHECK(run.stats.bytes_written < roomy.stats.bytes_written);
    CHECK(disk.used_bytes() == 0);
  }
}
