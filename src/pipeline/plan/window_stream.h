// WindowStream: an epoch's windows as the stages see them, sampled as they come or planned: then
// they come without mini-batches, and it is known where their rows go. Each call is one stage's.
#pragma once

#include "pipeline/plan/next_epoch.h"
#include "pipeline/plan/planned_epoch.h"
#include "pipeline/stream/window_sampler.h"

#include <memory>
#include <optional>
#include <utility>

namespace sluice {

class WindowStream {
 public:
  /// @param windows that were begun; borrowed. @param plan of their epoch, if any
  WindowStream(WindowSampler& windows, std::optional<PlannedEpoch> plan)
      : windows_(windows), plan_(std::move(plan)) {}
  /// Of an epoch that was prepared. @pre it was waited for
  explicit WindowStream(std::unique_ptr<NextEpoch> prepared)
      : prepared_(std::move(prepared)),
        windows_(prepared_->windows()),
        plan_(prepared_->take_plan()) {}

  /// The next window; null at the end of the epoch. Throws Error.
  std::shared_ptr<Window> next() { return windows_.sample(); }
  /// Where rows go; null where nothing is known of the future.
  PlannedEpoch* plan() { return plan_ ? &*plan_ : nullptr; }
  const PlannedEpoch* plan() const { return plan_ ? &*plan_ : nullptr; }
  /// Whether windows come without their mini-batches.
  bool brings() const { return windows_.brings(); }
  /// Fills in a mini-batch of such a window: of all windows, one after the other, once their rows
  /// are placed. May run beside next(), and is the one that samples then. Throws Error.
  void bring(Window& window, std::size_t index) { windows_.bring(window, index); }
  /// Null where the epoch was not prepared beside the one before.
  const NextEpoch* prepared() const { return prepared_.get(); }
  const WindowSampler& windows() const { return windows_; }

  /// Gives up what is kept on disk for the epoch, which is over.
  void forget() {
    windows_.forget_kept();
    if (plan_) plan_->drop_packed();
  }

 private:
  std::unique_ptr<NextEpoch> prepared_;
  WindowSampler& windows_;
  std::optional<PlannedEpoch> plan_;
};

}  // namespace sluice
