// How the bytes for windows are split between row caches, sampled blocks, and the lists that go
// with them.
#pragma once

#include "pipeline/data/graph_data_state.h"
#include "pipeline/stream/window_source.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Windows that live at once: being sampled, sampled, read in, and assembled.
inline constexpr std::uint64_t kLiveWindows = 4;
/// Where the consumer and sampling take turns: kept windows, read back and read in.
inline constexpr std::uint64_t kLiveInTurns = 2;

struct WindowBudget {
  WindowLimits limits;
  std::uint64_t cache_bytes = 0;            ///< of all types together
  std::vector<std::uint64_t> cached_bytes;  ///< by node type: what a mini-batch asks of each
  std::vector<std::uint64_t> least_slots;   ///< by node type: for a mini-batch a quarter larger
};

/// What windows are like.
struct WindowKind {
  std::int64_t batches = 0;  ///< of each, as the options ask; 0: as many as there is room for
  bool in_turns = false;     ///< as LoaderMemory has it
  bool known = false;        ///< from before: they hold no mini-batches (WindowSampler::bring)
};

/// @param batch any mini-batch of the run, to size things by
WindowBudget split_window_bytes(const GraphData::State& data,
                                const BatchSizes& batch,
                                std::uint64_t window_bytes,
                                const WindowKind& kind);

/// The least window bytes that a run of such mini-batches works with.
std::uint64_t least_window_bytes(const GraphData::State& data,
                                 const BatchSizes& batch,
                                 bool in_turns);

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
