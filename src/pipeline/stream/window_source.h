// WindowSource: where windows of mini-batches come from, one after the other, again and again the
// same: a sampler, or lists that were known before.
#pragma once

#include "pipeline/stream/window.h"

#include <sluice/loader.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

/// What one window may hold.
struct WindowLimits {
  /// Of sampled blocks and row numbers; kNoBlocks where windows do not hold them.
  std::uint64_t block_bytes = 0;
  std::vector<std::uint64_t> rows;  ///< by feature table: distinct rows wanted at most
  /// By feature table: distinct rows that a window of a single mini-batch may have beyond that.
  std::vector<std::uint64_t> most_rows;

  static constexpr std::uint64_t kNoBlocks = ~std::uint64_t{0};

  friend bool operator==(const WindowLimits&, const WindowLimits&) = default;
};

class WindowSource {
 public:
  virtual ~WindowSource() = default;

  /// Begins again at a batch of an epoch.
  virtual void begin(const LoaderStart& where, WindowLimits limits) = 0;

  /// The next window with its batches and no rows yet; null at the end of the epoch. After the same
  /// begin() always the same windows. Throws Error.
  virtual std::shared_ptr<Window> sample() = 0;

  /// Asked by who finds no room on the disk while windows are sampled: gives up what is kept there.
  /// False where nothing is.
  virtual bool free_disk() { return false; }
};

}  // namespace sluice
