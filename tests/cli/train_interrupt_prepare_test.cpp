// Ctrl-C while the next epoch is planned beside the one that trains, straight before it.
#include "cli/interrupted.h"

using namespace sluice::test;

TEST_CASE("Ctrl-C while the next epoch is prepared, which follows without a validation between") {
  check_stops("0.0");
}
