// An R-MAT graph with times, in memory, and the queries that training on it would ask.
#pragma once

#include "core/threads.h"
#include "samplers/temporal_graph.h"
#include "samplers/temporal_rows.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice::bench {

/// Events in time order, four a tick: 2^scale nodes, 16 events a node; an event's number is its
/// edge id. In-edges (event's source under its target) as a temporal CSC.
class TemporalBenchGraph {
 public:
  TemporalBenchGraph(std::uint64_t scale, ThreadArena& arena);

  const TemporalGraph& graph() const { return graph_; }
  std::uint64_t num_nodes() const { return num_nodes_; }
  std::uint64_t num_events() const { return sources_.size(); }
  static std::int64_t time_of(std::uint64_t event) {
    return 1'600'000'000 + static_cast<std::int64_t>(event / 4);
  }

  /// The destination that did not take part in an event: any node.
  std::uint32_t negative_of(std::uint64_t event) const;

  /// source.u32, target.u32 and negative.u32 by event, for peers.
  void write(const std::filesystem::path& folder) const;

  std::uint32_t source_of(std::uint64_t event) const { return sources_[event]; }
  std::uint32_t target_of(std::uint64_t event) const { return targets_[event]; }

 private:
  TemporalGraph make_graph() const;

  std::uint64_t num_nodes_;
  std::vector<std::uint32_t> sources_, targets_;
  TemporalGraph graph_;
};

enum class EventOrder { kTime, kShuffled };

/// Batches of events of the second half, in time order or shuffled; each is the queries of their
/// sources, then destinations, then random destinations, at the events' times.
class TemporalBenchQueries {
 public:
  static constexpr std::uint64_t kEvents = 600;  ///< a batch
  static constexpr std::uint64_t kRoots = 3 * kEvents;

  TemporalBenchQueries(const TemporalBenchGraph& graph, EventOrder order, std::uint64_t most);

  std::uint64_t num_batches() const { return nodes_.size() / kRoots; }
  TemporalQueries batch(std::uint64_t index) const;

 private:
  std::vector<std::uint64_t> nodes_;
  std::vector<std::int64_t> times_;
};

}  // namespace sluice::bench
