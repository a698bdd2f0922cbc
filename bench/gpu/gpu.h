// The GPU that a benchmark runs on, opened when it is first asked for, and its own clock.
#pragma once

#include "device/device.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace sluice::bench {

/// Not thread-safe.
class Gpu {
 public:
  /// Throws kResource where there is none.
  const std::shared_ptr<ComputeDevice>& device();

  /// What one of `rounds` takes that queue work on a stream: the median, without the first two.
  double seconds(Stream stream, std::uint64_t rounds, const std::function<void()>& queue);

 private:
  std::shared_ptr<ComputeDevice> device_;
};

}  // namespace sluice::bench
