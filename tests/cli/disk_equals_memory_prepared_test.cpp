// Disk equals memory where epochs are prepared while the one before trains.
#include "cli/disk_equals_memory.h"

using namespace sluice::test;

TEST_CASE("disk equals memory where epochs are prepared, with validations between or without") {
  const TempDir dir;
  generate_hubs(dir / "rmat");
  std::string every = "eval.every=3";
  SUBCASE("none between") {}
  SUBCASE("one between any two") {
    every = "eval.every=1";
  }
  Ground ground(dir / "rmat", "R-MAT", {"--set", every});
  check_ground(ground, "graphsage", combinations_here());
  const Outcome outcome = ground.run("graphsage",
                                     {"pread", 200, 4, 2, false, "repack", "belady", "memory"},
                                     {"--verbose", "--set", "memory.host=64MiB"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK_MESSAGE(outcome.err.find("beside the epoch before: repack") != std::string::npos,
                outcome.err);
}
