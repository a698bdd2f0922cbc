// PlanningMemory: in which memory a loader plans its epochs: before one, in all that training will
// take; beside one, in what training leaves alone. Used by one thread at a time.
#pragma once

#include "pipeline/stream/batch_sampler.h"
#include "pipeline/stream/window_source.h"

#include <cstdint>
#include <optional>

namespace sluice {

/// Memory that training leaves alone while its windows were all kept: of their row numbers'
/// indexes, of sampling, and of caches whose tables are smaller.
struct IdleMemory {
  std::uint64_t bytes = 0;
  std::uint64_t workspace = 0;  ///< of that, a thread's for sampling
};

class PlanningMemory {
 public:
  /// All are borrowed.
  PlanningMemory(GraphData::State& data,
                 const LoaderOptions& options,
                 const LoaderMemory& memory,
                 MemoryLedger& ledger,
                 BatchSampler& sampler)
      : data_(data), options_(options), memory_(memory), ledger_(ledger), sampler_(sampler) {}

  /// What is free while an epoch is planned, of caches whose rows were released: nothing is
  /// delivered then, so what mini-batches, their features and the consumer's tensors will take is.
  std::uint64_t room() const {
    return ledger_.limit() == MemoryLedger::kUnlimited ? memory_.window_bytes : ledger_.available();
  }
  /// Of that, what planning gets. A quarter stays for the caches' bookkeeping and the window being
  /// sampled.
  std::uint64_t share_of(std::uint64_t room) const {
    return std::max(memory_.window_bytes, room) / 4 * 3;
  }
  /// Forgets what is cached: rows that are worth it come back with the first windows. Returns the
  /// bytes that the caches keep, as planning has enough without them.
  /// @param batch_bytes of a sampled mini-batch
  std::uint64_t forget_rows(const WindowLimits& limits, std::uint64_t batch_bytes);
  /// Measured once an epoch of the sampler was kept, which releases its workspaces.
  const IdleMemory& beside_training(const WindowLimits& limits);
  /// The sampler begins another epoch.
  void begin() { idle_.reset(); }

 private:
  GraphData::State& data_;
  const LoaderOptions& options_;
  const LoaderMemory& memory_;
  MemoryLedger& ledger_;
  BatchSampler& sampler_;
  std::optional<IdleMemory> idle_;  // since the sampler's last epoch
};

}  // namespace sluice
