#include "train/step_clock.h"

#include <utility>

namespace sluice {

StepClock::StepClock(std::shared_ptr<ComputeDevice> device) : device_(std::move(device)) {
  if (!device_) return;
  for (Step& step : steps_) {
    step.begin = device_->make_event().or_throw();
    step.end = device_->make_event().or_throw();
  }
}

void StepClock::count(Step& step) {
  if (!std::exchange(step.open, false)) return;
  device_->synchronize(*step.end).or_throw();
  seconds_ += device_->seconds_between(*step.begin, *step.end).or_throw();
}

void StepClock::begin() {
  if (!device_) return;
  current_ = (current_ + 1) % steps_.size();
  count(steps_[current_]);
  device_->record(*steps_[current_].begin, Stream::kCompute).or_throw();
}

void StepClock::end() {
  if (!device_) return;
  device_->record(*steps_[current_].end, Stream::kCompute).or_throw();
  steps_[current_].open = true;
}

double StepClock::take() {
  for (Step& step : steps_) count(step);
  return std::exchange(seconds_, 0);
}

}  // namespace sluice
