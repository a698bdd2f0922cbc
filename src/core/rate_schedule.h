// RateSchedule: what a run's learning rates are multiplied by, step by step. Numbers in, a number
// out: what it remembers of validations is a small state, which checkpoints keep. Whoever trains
// multiplies the rates of weights and of learned rows by the same number.
#pragma once

#include <sluice/options.h>

#include <cstdint>
#include <vector>

namespace sluice {

enum class ScheduleKind { kConstant, kStep, kCosine, kPlateau };

struct RateScheduleOptions {
  ScheduleKind type = ScheduleKind::kConstant;
  std::vector<double> at{0.5};  ///< of kStep
  double factor = 0.1;          ///< of kStep and kPlateau
  std::int64_t patience = 0;    ///< of kPlateau
  double least = 0;             ///< share of the rates that is always left
  double warmup = 0;            ///< epochs
  void describe(Schema& schema);

  /// Whether the number of epochs is part of what it gives.
  bool goes_by_epochs() const {
    return type == ScheduleKind::kStep || type == ScheduleKind::kCosine;
  }
};

/// The step that comes next.
struct StepPlace {
  std::uint64_t epoch = 0;    ///< epochs that are done
  std::uint64_t epochs = 1;   ///< of the run
  std::uint64_t batch = 0;    ///< of this epoch
  std::uint64_t batches = 1;  ///< an epoch has
};

/// Of validations so far.
struct PlateauState {
  std::uint64_t reductions = 0;
  std::int64_t waited = 0;  ///< validations that were not better, since the best or a reduction
};

class RateSchedule {
 public:
  RateSchedule() = default;
  /// Throws kUsage for options that do not go together.
  explicit RateSchedule(RateScheduleOptions options);

  /// Exactly 1 where the schedule is constant and nothing warms up.
  double factor(const StepPlace& place, const PlateauState& plateau) const;
  /// Takes note of a validation. @return whether rates are lower from now on
  bool note(bool better, PlateauState& plateau) const;

 private:
  RateScheduleOptions options_;
};

}  // namespace sluice
