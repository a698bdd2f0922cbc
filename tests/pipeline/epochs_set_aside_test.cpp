// Of an epoch that was prepared and set aside for another loader: the caches that it was for, its
// room on the disk, and what is left of it when it does not come.
#include "loader_pair.h"
#include "pipeline/data/graph_data_state.h"

#include <chrono>
#include <system_error>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

// Of nameless files that this process has open in a folder.
std::uint64_t scratch_bytes(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), problem).string();
    if (target.find(folder.string() + "/") == 0 && target.find("(deleted)") != std::string::npos)
      bytes += std::filesystem::file_size(entry.path(), problem);
  }
  return bytes;
}

}  // namespace

// Caches that are a little smaller than a loader would make them serve it as well.
TEST_CASE("what was prepared for caches that another loader replaced is planned anew") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  setup.window_bytes += setup.window_bytes / 4;  // so that there is room to prepare in smaller ones
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  for (const std::uint64_t percent : {90u, 60u}) {
    CAPTURE(percent);
    LoaderPair pair(dir / "x", setup, setup.window_bytes * percent / 100);
    CHECK(deliver_epoch(pair.loader, with_others_between(0)).chain == reference[0].chain);
    const Run between = deliver_epoch(pair.other, {});
    for (std::uint64_t epoch = 1; epoch < 3; ++epoch) {
      CAPTURE(epoch);
      LoaderStart where = with_others_between(epoch);
      where.next_follows = true;
      const Run run = deliver_epoch(pair.loader, where);
      CHECK(run.chain == reference[epoch].chain);
      REQUIRE(!run.stats.plans.empty());
      const std::string last_plan = run.stats.plans.back();
      CAPTURE(last_plan);
      const bool expected = percent == 90 && epoch == 2;
      CHECK(prepared(run.stats) == expected);
      const bool replaced = last_plan.find("caches of another size") != std::string::npos;
      CHECK(replaced == !expected);
      CHECK(deliver_epoch(pair.other, {}).chain == between.chain);
    }
    // It is not tried a third time.
    const Run run = deliver_epoch(pair.loader, with_others_between(0));
    CHECK(run.chain == reference[0].chain);
    CHECK(run.stats.plans.back().find("caches of another size") == std::string::npos);
  }
}

TEST_CASE("what was prepared takes the disk's room of the epoch before, not of those between") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  const Setup setup = following(dir);
  const std::filesystem::path folder = std::filesystem::canonical(dir.path());
  LoaderPair pair(dir / "x", setup, setup.window_bytes);
  // Of which the one between takes none itself; without what is kept for later and would make way.
  const auto after_single = [&](const LoaderStart& where) {
    deliver_epoch(pair.loader, where);
    deliver_epoch(pair.single, {});
    pair.data.state().scratch_files->drop();
    return scratch_bytes(folder);
  };
  // Of an epoch that was prepared as the others are, so that as many of its rows have runs, and
  // that prepares none.
  (void)after_single({.epoch = 0, .next_follows = true, .others_between = true});
  const std::uint64_t alone = after_single({.epoch = 1});
  REQUIRE(alone > 0);
  // The lists of the epoch that is over are there as well.
  const std::uint64_t bound = alone + alone / 4;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    CAPTURE(epoch);
    const LoaderStart where{.epoch = epoch, .next_follows = true, .others_between = true};
    CHECK(after_single(where) < bound);
  }
}

TEST_CASE("what was prepared and set aside leaves nothing behind when it does not come") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  Setup setup = following(dir);
  SUBCASE("edges in memory") {}
  SUBCASE("edges on disk") {
    setup.topology = Placement::kDisk;
  }
  const std::vector<Run> reference = in_memory(dir / "x", setup);
  LoaderPair pair(dir / "x", setup, setup.window_bytes);
  const Run between = deliver_epoch(pair.other, {});
  for (int round = 0; round < sanitized(8, 4); ++round) {
    CAPTURE(round);
    CHECK(deliver_epoch(pair.loader, with_others_between(0)).chain == reference[0].chain);
    std::this_thread::sleep_for(std::chrono::microseconds(700 * round));
    CHECK(deliver_epoch(pair.other, {}).chain == between.chain);
    if (round % 2 == 1) pair.loader.stop();
    const std::uint64_t epoch = round % 4 < 2 ? 2 : 0;
    const Run run = deliver_epoch(pair.loader, with_others_between(epoch));
    CHECK(run.chain == reference[epoch].chain);
    CHECK(!prepared(run.stats));
    CHECK(deliver_epoch(pair.other, {}).chain == between.chain);
  }
  CHECK(deliver_epoch(pair.loader, with_others_between(0)).chain == reference[0].chain);
  // In an epoch when all of it goes.
  pair.other.start({});
  REQUIRE(pair.other.next() != nullptr);
}
