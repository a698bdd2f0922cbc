// A forecast beside the epoch itself, where the table is swept or its rows are packed.
#include "forecast_epoch.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a forecast says within a factor of 1.3 what the epoch reads and writes: sweep, repack") {
  check_forecasts({PlanChoice::kSweep, PlanChoice::kRepack});
}
