// WindowKeeper: the windows of an epoch, sampled to be planned and kept to be played back, in
// memory that nothing else takes meanwhile. Edges on disk are read once: as a whole into memory
// where that has room for a while, else by pages, through larger buffers. Used by one thread.
#pragma once

#include "pipeline/stream/kept_windows.h"
#include "pipeline/stream/lent_staging.h"
#include "pipeline/stream/window_sampler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace sluice {

/// How mini-batches are sampled meanwhile.
struct KeepingPlan {
  std::uint64_t edge_bytes = 0;  ///< of edges that are held meanwhile; 0: they are read by pages
  std::size_t group = 1;         ///< batches that share reads
  std::size_t ahead = 1;         ///< batches sampled at once where none are shared
  std::uint64_t staging = 0;     ///< that each relation on disk is lent; 0: none
};

/// @param bytes of memory: the more, the more batches share their reads
/// @param block_bytes of a mini-batch
KeepingPlan plan_keeping(const BatchSampler& sampler,
                         std::uint64_t bytes,
                         std::uint64_t block_bytes,
                         const WindowLimits& limits);

/// Memory that makes keeping as fast as it gets; all of it where edges are on disk.
std::uint64_t wish_for_keeping(const BatchSampler& sampler,
                               std::uint64_t block_bytes,
                               const WindowLimits& limits);

class WindowKeeper final : public WindowSource {
 public:
  /// @param sampler borrowed; nobody else's meanwhile
  /// @param bytes memory to be had meanwhile: the more, the more batches share their reads
  /// @param batch_bytes of a mini-batch
  WindowKeeper(BatchSampler& sampler,
               const LoaderStart& where,
               const WindowLimits& limits,
               std::uint64_t bytes,
               std::uint64_t batch_bytes);
  WindowKeeper(const WindowKeeper&) = delete;
  WindowKeeper& operator=(const WindowKeeper&) = delete;
  ~WindowKeeper() override { give_back(); }

  /// Of its mini-batches a window has nothing but which they are.
  std::shared_ptr<Window> next() override;
  bool free_disk() override { return kept_->free_disk(); }

  /// @pre next() came to the end
  std::unique_ptr<KeptWindows> take_kept() { return std::move(kept_); }

 private:
  void load_edges(std::uint64_t bytes);
  void lend_staging(std::uint64_t each);
  void give_back();

  BatchSampler& sampler_;
  std::unique_ptr<KeptWindows> kept_;
  std::optional<BatchSampler> resident_;  // if edges fit
  std::unique_ptr<LentStaging> lent_;     // if they do not
  std::optional<WindowSampler> windows_;  // until their end
};

}  // namespace sluice
