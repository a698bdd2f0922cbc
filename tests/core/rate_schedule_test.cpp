// Learning-rate schedules: the sequences that each is known by.
#include "core/rate_schedule.h"

#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/error.h>

#include <cmath>
#include <vector>

using namespace sluice;

namespace {

/// The factors of all steps, without validations.
std::vector<double> factors_of(const RateScheduleOptions& options,
                               std::uint64_t epochs,
                               std::uint64_t batches) {
  const RateSchedule schedule(options);
  std::vector<double> factors;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::uint64_t batch = 0; batch < batches; ++batch)
      factors.push_back(schedule.factor({epoch, epochs, batch, batches}, {}));
  return factors;
}

void check_factors(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("rate schedule: constant rates are what is set, to the bit") {
  for (const double factor : factors_of({}, 3, 4)) CHECK(factor == 1.0);
  RateScheduleOptions floor;
  floor.least = 0.5;
  for (const double factor : factors_of(floor, 2, 2)) CHECK(factor == 1.0);
}

TEST_CASE("rate schedule: steps fall at shares of the epochs, also in the middle of one") {
  RateScheduleOptions options;
  options.type = ScheduleKind::kStep;
  options.at = {0.5, 0.75};
  check_factors(factors_of(options, 4, 2), {1, 1, 1, 1, .1, .1, .01, .01});
  options.at = {0.5};
  options.factor = 0.25;
  check_factors(factors_of(options, 3, 2), {1, 1, 1, .25, .25, .25});
  options.least = 0.5;
  check_factors(factors_of(options, 3, 2), {1, 1, 1, .5, .5, .5});
  options.at = {0.75, 0.5};
  CHECK(test::expect_error([&] { (void)RateSchedule(options); }).message() ==
        "'train.schedule.at' does not ascend");
}

TEST_CASE("rate schedule: a cosine goes down to what is least") {
  RateScheduleOptions options;
  options.type = ScheduleKind::kCosine;
  check_factors(factors_of(options, 2, 2), {1, .5 + std::sqrt(.5) / 2, .5, .5 - std::sqrt(.5) / 2});
  options.least = 0.2;
  check_factors(factors_of(options, 2, 2),
                {1, .2 + .8 * (.5 + std::sqrt(.5) / 2), .6, .2 + .8 * (.5 - std::sqrt(.5) / 2)});
}

TEST_CASE("rate schedule: a warm-up rises step by step, and the schedule goes on behind it") {
  RateScheduleOptions options;
  options.warmup = 1;
  check_factors(factors_of(options, 2, 4), {.25, .5, .75, 1, 1, 1, 1, 1});
  options.warmup = 0.5;
  check_factors(factors_of(options, 1, 4), {.5, 1, 1, 1});
  options.warmup = 0.01;  // less than a step
  check_factors(factors_of(options, 1, 3), {1, 1, 1});
  options.warmup = 1;
  options.type = ScheduleKind::kStep;
  options.at = {0.5};
  check_factors(factors_of(options, 2, 2), {.5, 1, .1, .1});
}

TEST_CASE("rate schedule: a plateau lowers the rates after its patience, again and again") {
  RateScheduleOptions options;
  options.type = ScheduleKind::kPlateau;
  options.factor = 0.95;
  options.patience = 1;
  const RateSchedule schedule(options);
  struct Validation {
    bool better, lowers;
    double factor;
  };
  PlateauState plateau;
  for (const Validation& at : std::vector<Validation>{{true, false, 1},
                                                      {false, false, 1},
                                                      {true, false, 1},
                                                      {false, false, 1},
                                                      {false, true, .95},
                                                      {false, false, .95},
                                                      {false, true, .95 * .95},
                                                      {true, false, .95 * .95}}) {
    CHECK(schedule.note(at.better, plateau) == at.lowers);
    CHECK(schedule.factor({7, 10, 3, 5}, plateau) == doctest::Approx(at.factor).epsilon(1e-12));
  }
  // Other schedules take no notice.
  PlateauState none;
  for (int i = 0; i < 5; ++i) CHECK_FALSE(RateSchedule().note(false, none));
  CHECK(none.waited == 0);
}
