// WindowSource: the windows of mini-batches of an epoch, one after the other: sampled as they come,
// or known from before.
#pragma once

#include "pipeline/stream/window.h"

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

  /// The next window with its batches and no rows yet; null at the end of the epoch. Throws Error.
  virtual std::shared_ptr<Window> next() = 0;

  /// Asked by who finds no room on the disk while windows are sampled: gives up what is kept there.
  /// False where nothing is.
  virtual bool free_disk() { return false; }
};

}  // namespace sluice
