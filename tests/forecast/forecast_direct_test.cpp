// A forecast beside the epoch itself, where rows are read from the table as they lie.
#include "forecast_epoch.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a forecast says within a factor of 1.3 what the epoch reads: chosen plan, direct") {
  check_forecasts({PlanChoice::kAuto, PlanChoice::kDirect});
}
