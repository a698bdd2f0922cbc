// LossReader: losses of steps on their way to the host, so that a GPU has the next step to do
// while the host waits for the one before. On the CPU they are there at once. Used by one thread.
#pragma once

#include "device/device.h"
#include "storage/io/aligned_buffer.h"

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>

namespace sluice {

class LossReader {
 public:
  static constexpr std::size_t kPending = 2;

  /// @param device null: the CPU
  explicit LossReader(std::shared_ptr<ComputeDevice> device);

  /// Takes a step's loss, an f32 scalar of which `seeds` is the weight. @pre fewer than kPending
  /// are pending
  void push(const torch::Tensor& loss, double seeds);

  /// Adds weight times loss to `sum`, in order, for all but the `leave` latest; waits for them.
  void settle(std::size_t leave, double& sum);

 private:
  struct Pending {
    torch::Tensor loss;  // keeps it alive until it was copied
    double seeds = 0;
    std::size_t slot = 0;
  };

  std::shared_ptr<ComputeDevice> device_;
  AlignedBuffer landing_;  // a float a slot
  std::array<std::unique_ptr<DeviceEvent>, kPending> copied_;
  std::deque<Pending> pending_;
  std::size_t next_slot_ = 0;
};

}  // namespace sluice
