// Disk equals memory on a graph with hubs: many nodes with short rows.
#include "cli/disk_equals_memory.h"

using namespace sluice::test;

TEST_CASE("disk equals memory on a generated graph with hubs") {
  const TempDir dir;
  generate_hubs(dir / "rmat");
  Ground ground(dir / "rmat", "R-MAT");
  check_all_models(ground);
}
