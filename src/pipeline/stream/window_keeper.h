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
