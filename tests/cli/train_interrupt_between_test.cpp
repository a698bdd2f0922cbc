// Ctrl-C while the next epoch is planned beside the one that trains, with a validation between.
#include "cli/interrupted.h"

using namespace sluice::test;

TEST_CASE("Ctrl-C while the next epoch is prepared, which follows after a validation") {
  check_stops("0.01");
}
