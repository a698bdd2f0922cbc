// DeviceFeed: the last stage before the consumer where there is a GPU: a sampled batch is packed
// into a pinned slab, copied in one piece, and its features follow: with it, where the host has to
// compute or hash them, else gathered and widened by the GPU straight from the pinned row caches.
// Used by one thread.
#pragma once

#include "pipeline/gpu/batch_packing.h"
#include "pipeline/gpu/transfer_ring.h"
#include "pipeline/stage/assembler.h"
#include "pipeline/stage_clock.h"
#include "pipeline/stream/window.h"

#include <sluice/loader.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace sluice {

/// A batch on its way to the consumer. On a GPU: everything is queued, and deliver() of the lease
/// makes it the compute stream's.
struct Ready {
  std::shared_ptr<const Batch> batch;
  std::uint64_t bytes = 0;  ///< of features and labels
  std::uint64_t hash = 0;
  TransferRing::Lease lease;  ///< null where the batch is on the host
};

class DeviceFeed {
 public:
  DeviceFeed(Assembler& assembler, const LoaderOptions& options, std::shared_ptr<TransferRing> ring)
      : assembler_(assembler), options_(options), ring_(std::move(ring)) {}

  /// A run begins: counts start at 0. @param slot_bytes what slots are made for at least
  void begin(std::uint64_t slot_bytes);

  /// Sends the window's `index`-th batch. Nothing once the ring is closed. Throws Error.
  /// @param busy with it, but while it waits for a slot
  std::optional<Ready> send(Batch batch, const Window& window, std::size_t index, Busy& busy);

  /// Waits until the GPU has read all rows of the windows so far: their slots may be filled anew.
  void finish_window();

  /// Bytes that a batch takes of a slab at most.
  std::uint64_t slab_bytes(const Batch& batch) const;
  /// Since the run began: bytes copied and read from pinned rows, seconds of waiting for a slot.
  std::uint64_t bytes() const { return bytes_; }
  /// Batches whose features a GPU gathered itself.
  std::uint64_t gathered() const { return gathered_; }
  double blocked() const { return ring_->blocked() - blocked_before_; }
  TransferRing& ring() const { return *ring_; }

 private:
  std::vector<Array::Shape> shapes_of(std::span<const FeatureList> lists) const;
  void queue(std::span<const FeatureList> lists,
             const BatchPacking& packing,
             Gather gather,
             TransferRing::Slot& slot);

  Assembler& assembler_;
  LoaderOptions options_;
  std::shared_ptr<TransferRing> ring_;
  const TransferRing::Slot* reading_ = nullptr;  // last whose rows the GPU gathers itself
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> gathered_{0};
  double blocked_before_ = 0;
};

}  // namespace sluice
