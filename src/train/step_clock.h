// StepClock: how long a GPU had steps to do, by events before and behind each. Does nothing on the
// CPU. Used by one thread.
#pragma once

#include "device/device.h"

#include <array>
#include <memory>

namespace sluice {

class StepClock {
 public:
  /// @param device null: the CPU
  explicit StepClock(std::shared_ptr<ComputeDevice> device);

  void begin();
  void end();
  /// Seconds between begin and end, summed over the steps since the last call. Waits for the last.
  double take();

 private:
  struct Step {
    std::unique_ptr<DeviceEvent> begin, end;
    bool open = false;
  };
  void count(Step& step);

  std::shared_ptr<ComputeDevice> device_;
  std::array<Step, 3> steps_;  // in turn
  std::size_t current_ = 0;
  double seconds_ = 0;
};

}  // namespace sluice
