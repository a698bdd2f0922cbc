// RunDevice: the GPU that a run computes on, or none; chosen by [train] device, with the ledger of
// its memory, [memory] gpu.
#pragma once

#include "core/log.h"
#include "device/device.h"
#include "train/options.h"

#include <sluice/memory.h>

#include <torch/torch.h>

#include <memory>
#include <string>

namespace sluice {

struct RunDevice {
  std::shared_ptr<ComputeDevice> device;  ///< null: the CPU
  /// Of the GPU: mini-batches in flight and LibTorch's tensors. Null on the CPU.
  std::shared_ptr<MemoryLedger> ledger;

  /// "cpu" or the device's kind.
  std::string kind() const;
  /// Where the model's tensors live.
  torch::Device place() const;
  const kernels::KernelTable* kernels() const;

  /// Runs work that uses tensors; that the GPU has no memory left, for LibTorch's pool or for what
  /// its libraries take beside it, becomes kResource, with the ledger's table.
  template <class Work>
  auto guarded(const Work& work) const {
    try {
      return work();
    } catch (const c10::Error& error) {
      if (!is_out_of_memory(error)) throw;
      throw out_of_memory(error);
    }
  }

  Error out_of_memory(const c10::Error& error) const;
  static bool is_out_of_memory(const c10::Error& error);
};

/// Whether an error is that the GPU's budget is too small.
bool is_of_device_budget(const Error& error);

/// Opens the GPU that the options ask for; "auto" takes the CPU where there is none and says why
/// in the log. Call it before anything else of LibTorch. Throws kResource: no GPU although one is
/// asked for, or one with less memory free than [memory] gpu.
RunDevice open_run_device(const RunOptions& options, Logger& log);

}  // namespace sluice
