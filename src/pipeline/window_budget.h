// How the bytes for windows are split between row caches, sampled blocks, and the lists that go
// with them.
#pragma once

#include "pipeline/data/graph_data_state.h"
#include "pipeline/phases.h"
#include "pipeline/stream/window_source.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct WindowBudget {
  WindowLimits limits;
  std::uint64_t cache_bytes = 0;            ///< of all tables together
  std::vector<std::uint64_t> cached_bytes;  ///< by table: what a mini-batch asks of each
  std::vector<std::uint64_t> least_slots;   ///< by table: for a mini-batch a quarter larger
};

/// What windows are like.
struct WindowKind {
  std::int64_t batches = 0;  ///< of each, as the options ask; 0: as many as there is room for
  Phases phases;
  bool known = false;  ///< from before: they hold no mini-batches (KeptWindows)
};

/// @param batch any mini-batch of the run, to size things by
WindowBudget split_window_bytes(const GraphData::State& data,
                                const BatchSizes& batch,
                                std::uint64_t window_bytes,
                                const WindowKind& kind);

/// No window has more rows than its table's cache has slots, nor, of several mini-batches, than
/// half.
/// @param slots by table; 0: there is none
WindowLimits within(WindowLimits limits, const std::vector<std::uint64_t>& slots);

/// Where epochs may be repacked, each table's rows are read back through a buffer of its own,
/// beside what windows take. Counted before anyone says where scratch files go.
std::uint64_t reading_back_bytes(const GraphData::State& data);

/// The least window bytes that a run of such mini-batches works with.
std::uint64_t least_window_bytes(const GraphData::State& data,
                                 const BatchSizes& batch,
                                 const Phases& phases);

/// Of an epoch of such mini-batches, where its consumer and sampling take turns.
struct TurnBytes {
  std::uint64_t sampling = 0;  ///< while it is sampled, besides the sampler's workspaces
  std::uint64_t kept = 0;      ///< until it is consumed: buffers of its scratch file, checksums
};
/// @param group batches sampled at once
TurnBytes turn_bytes(const GraphData::State& data,
                     const BatchSizes& batch,
                     std::uint64_t batches,
                     std::uint64_t group);

}  // namespace sluice
