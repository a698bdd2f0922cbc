#include "pipeline/stream/window_sampler.h"

#include "pipeline/stream/window_rows.h"

#include <algorithm>

namespace sluice {

std::shared_ptr<Window> WindowSampler::next() {
  const Batch* batch = batches_.peek();
  if (batch == nullptr) return nullptr;
  auto window = std::make_shared<Window>();
  window->number = windows_++;
  begin_rows(*window, *batch, limits_, setting_.data.tables, setting_.ledger);
  used_bytes_ = 0;
  const std::int64_t asked = setting_.options.window;
  const std::uint64_t most = asked > 0 ? static_cast<std::uint64_t>(asked) : ramp_;
  ramp_ = std::min(2 * ramp_, kMaxWindow);
  while (window->batches.size() < most && (batch = batches_.peek()) != nullptr) {
    if (!add(*window, *batch)) break;
    window->batches.push_back(batches_.take());
    if (joined_) joined_(*window);
  }
  return window;
}

// Counts the batch and numbers its rows, or leaves the window as it was where there is no room. A
// first one has to fit.
bool WindowSampler::add(Window& window, const Batch& batch) {
  const bool first = window.batches.empty();
  const std::uint64_t bytes = bytes_in(window, batch, setting_.data.tables);
  if (!first && used_bytes_ + bytes > limits_.block_bytes) return false;
  if (!add_rows(window, batch, limits_, setting_.data.tables, setting_.ledger)) {
    if (first) refuse(window, batch, limits_, setting_.data.tables);
    return false;
  }
  used_bytes_ += bytes;
  return true;
}

}  // namespace sluice
