// Disk equals memory on Cora: few nodes with long rows.
#include "cli/cora_dataset.h"
#include "cli/disk_equals_memory.h"

using namespace sluice::test;

TEST_CASE("disk equals memory on Cora") {
  const TempDir dir;
  if (!import_cora(dir / "cora")) return;
  Ground ground(dir / "cora", "Cora");
  check_all_models(ground);
}
