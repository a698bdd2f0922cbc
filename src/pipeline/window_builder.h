// WindowBuilder: the first two stages. Samples mini-batches in parallel and groups as many into a
// window as fit its bytes; then fetches the rows the window needs. Each stage is called by one
// thread; the two may run at once.
#pragma once

#include "core/threads.h"
#include "pipeline/graph_data_state.h"
#include "pipeline/window.h"
#include "samplers/group_sampler.h"
#include "samplers/seed_order.h"

#include <sluice/loader.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace sluice {

class WindowBuilder {
 public:
  WindowBuilder(GraphData::State& data,
                const LoaderOptions& options,
                const SeedOrder& order,
                MemoryLedger& ledger);

  /// Begins again at a batch of an epoch. @param window_bytes what one window may take
  void begin(const LoaderStart& where, std::uint64_t window_bytes);

  /// The next window with its batches sampled and no rows yet; null at the end of the epoch. Throws
  /// Error.
  std::shared_ptr<Window> sample();

  /// Reads the window's rows, taking over what `before` holds. Throws Error.
  void fetch(Window& window, const Window* before);

  /// Batches sampled at once, each in a workspace of its own.
  std::size_t group_size() const { return sampler_.group_size(); }

  /// Samples one batch of epoch 0, for measuring.
  Batch sample_one(std::uint64_t index);

  /// Bytes of the rows as stored that a batch needs, tables in memory not counted.
  std::uint64_t stored_row_bytes(const Batch& batch) const;

 private:
  void sample_group();
  std::vector<Batch> sample_batches(std::uint64_t epoch, std::uint64_t first, std::size_t count);
  bool on_disk(std::size_t type) const;

  GraphData::State& data_;
  LoaderOptions options_;
  const SeedOrder& order_;
  MemoryLedger& ledger_;
  ThreadArena arena_;
  GroupSampler sampler_;
  std::uint64_t epoch_ = 0;
  std::uint64_t next_batch_ = 0;
  std::uint64_t limit_bytes_ = 0;
  std::uint64_t ramp_ =
      0;  // the most batches of the next window: windows grow, so that the first is soon there
  std::deque<Batch> sampled_;  // waiting for a window
};

}  // namespace sluice
