#include "core/rate_schedule.h"

#include <sluice/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace sluice {
namespace {

constexpr double kMostEpochs = 1e9;

// Behind the step: the first of a run is at 0.
double epochs_done(const StepPlace& place) {
  return static_cast<double>(place.epoch) +
         static_cast<double>(place.batch) /
             static_cast<double>(std::max<std::uint64_t>(place.batches, 1));
}

}  // namespace

void RateScheduleOptions::describe(Schema& schema) {
  schema
      .choice(
          "type",
          type,
          {{"constant", ScheduleKind::kConstant, "as they are set"},
           {"step", ScheduleKind::kStep, "times `factor` at each share of the epochs in `at`"},
           {"cosine", ScheduleKind::kCosine, "down to `least` along half a cosine"},
           {"plateau",
            ScheduleKind::kPlateau,
            "times `factor` where validations are not better any more, by the metric that picks "
            "the best epoch"}})
      .help("what becomes of the learning rates of weights and of learned rows, both alike");
  schema.field("at", at)
      .help("of \"step\": shares of train.epochs that are done, ascending")
      .range(0, 1);
  schema.field("factor", factor).help("of \"step\" and \"plateau\"").range(0, 1);
  schema.field("patience", patience)
      .help("of \"plateau\": so many validations in a row may not be better before one more counts")
      .unit("evaluations")
      .range(0, kMostEpochs);
  schema.field("least", least).help("rates never fall below this share of what is set").range(0, 1);
  schema.field("warmup", warmup)
      .help(
          "rates rise in a line over the steps of the first epochs, so many; 0: from the start on")
      .unit("epochs")
      .range(0, kMostEpochs);
}

RateSchedule::RateSchedule(RateScheduleOptions options) : options_(std::move(options)) {
  if (std::ranges::is_sorted(options_.at)) return;
  throw Error(ErrorCode::kUsage,
              "'train.schedule.at' does not ascend",
              "for example at = [0.5, 0.75]: after half and after three quarters of the epochs");
}

double RateSchedule::factor(const StepPlace& place, const PlateauState& plateau) const {
  const double done = epochs_done(place);
  const double share = done / static_cast<double>(std::max<std::uint64_t>(place.epochs, 1));
  double factor = 1;
  switch (options_.type) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kStep:
      factor = std::pow(options_.factor,
                        std::ranges::count_if(options_.at, [&](double at) { return share >= at; }));
      break;
    case ScheduleKind::kCosine:
      factor = options_.least +
               (1 - options_.least) * (1 + std::cos(std::numbers::pi * std::min(share, 1.0))) / 2;
      break;
    case ScheduleKind::kPlateau:
      factor = std::pow(options_.factor, static_cast<double>(plateau.reductions));
      break;
  }
  factor = std::max(factor, options_.least);
  if (options_.warmup <= 0) return factor;
  // The first step has the rate of one step's way, and the last of the warm-up the whole.
  const double steps = options_.warmup * static_cast<double>(place.batches);
  const double step = done * static_cast<double>(place.batches) + 1;
  return factor * std::min(1.0, step / std::max(steps, 1.0));
}

bool RateSchedule::note(bool better, PlateauState& plateau) const {
  if (options_.type != ScheduleKind::kPlateau) return false;
  if (better) {
    plateau.waited = 0;
    return false;
  }
  if (++plateau.waited <= options_.patience) return false;
  plateau.waited = 0;
  ++plateau.reductions;
  return true;
}

}  // namespace sluice
