// WindowSampler: an epoch's windows, sampled as they come: as many mini-batches each as its blocks
// and distinct rows have room for. The same windows for the same begin. Used by one thread.
#pragma once

#include "pipeline/stream/batch_sequence.h"
#include "pipeline/stream/window_source.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace sluice {

inline constexpr std::uint64_t kFirstWindow = 4;   ///< batches; each next one may be twice as large
inline constexpr std::uint64_t kMaxWindow = 1024;  ///< batches, when the options leave it open

class WindowSampler final : public WindowSource {
 public:
  /// @param batches of the epoch from where it begins
  /// @param joined called with the window after each of its batches
  WindowSampler(BatchSampler& sampler,
                const LoaderStart& where,
                WindowLimits limits,
                std::size_t ahead = 0,
                std::function<void(Window&)> joined = {})
      : setting_(sampler.setting()),
        batches_(sampler, where, ahead),
        limits_(std::move(limits)),
        joined_(std::move(joined)) {}

  std::shared_ptr<Window> next() override;

 private:
  bool add(Window& window, const Batch& batch);

  const BatchSetting& setting_;
  BatchSequence batches_;
  WindowLimits limits_;
  std::function<void(Window&)> joined_;
  std::size_t windows_ = 0;
  // The most batches of the next window: windows grow, so that the first is soon there.
  std::uint64_t ramp_ = kFirstWindow;
  std::uint64_t used_bytes_ = 0;  // of the window being made
};

}  // namespace sluice
