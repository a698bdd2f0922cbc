// WindowStream: an epoch's windows as the stages see them, sampled as they come or planned: then
// they come without mini-batches, and it is known where their rows go. Each call is one stage's.
#pragma once

#include "pipeline/plan/next_epoch.h"
#include "pipeline/plan/planned_epoch.h"
#include "pipeline/stream/kept_windows.h"

#include <memory>
#include <optional>
#include <utility>

namespace sluice {

class WindowStream {
 public:
  /// @param plan of their epoch, if any
  explicit WindowStream(std::unique_ptr<WindowSource> windows,
                        std::optional<PlannedEpoch> plan = std::nullopt)
      : windows_(std::move(windows)), plan_(std::move(plan)) {}
  /// Of an epoch whose windows were kept. @param prepared if it was: whom they borrow from
  WindowStream(std::unique_ptr<KeptWindows> windows,
               PlannedEpoch plan,
               std::unique_ptr<NextEpoch> prepared = nullptr)
      : prepared_(std::move(prepared)),
        kept_(windows.get()),
        windows_(std::move(windows)),
        plan_(std::move(plan)) {}

  /// The next window; null at the end of the epoch. Throws Error.
  std::shared_ptr<Window> next() { return windows_->next(); }
  /// Null where windows come with their mini-batches; else who brings them, which may run beside
  /// next(), and is the one that samples then.
  KeptWindows* kept() { return kept_; }
  /// Where rows go; null where nothing is known of the future.
  PlannedEpoch* plan() { return plan_ ? &*plan_ : nullptr; }
  const PlannedEpoch* plan() const { return plan_ ? &*plan_ : nullptr; }
  /// Null where the epoch was not prepared beside the one before.
  const NextEpoch* prepared() const { return prepared_.get(); }

  /// Gives up what is kept on disk for the epoch, which is over.
  void forget() {
    kept_ = nullptr;
    windows_.reset();
    if (plan_) plan_->drop_packed();
  }

 private:
  std::unique_ptr<NextEpoch> prepared_;
  KeptWindows* kept_ = nullptr;  // windows_, where they are
  std::unique_ptr<WindowSource> windows_;
  std::optional<PlannedEpoch> plan_;
};

}  // namespace sluice
