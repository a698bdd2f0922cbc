// Temporal sampling: roots and edges a second beside TGL's and pyg-lib's figures and, in the same
// run, PyG's LastNeighborLoader; and what a hub costs.
#pragma once

#include "bench/samplers/temporal_graph.h"
#include "bench/support/program.h"
#include "samplers/temporal_sampler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::bench {

struct TemporalBenchOptions {
  // Shared with the other cases.
  const std::string& dir;       ///< where the peer's input is written
  const std::uint64_t& scale;   ///< 2^scale nodes, 16 events a node
  const std::uint64_t& rounds;  ///< the middle one counts
  const std::string& peers;     ///< scripts/bench_peers; empty: no peer

  std::string order = "both";    ///< of events: time, shuffled or both
  std::uint64_t batches = 4000;  ///< of 600 events, at most; two hops take an eighth of them
  std::uint64_t threads = 2;
};

class TemporalBench {
 public:
  /// @param options must outlive this; read when a case runs
  explicit TemporalBench(const TemporalBenchOptions& options) : options_(options) {}

  /// Adds the temporal cases and `hub`.
  void add_to(Program& program);

 private:
  struct Case {
    std::string name;
    TemporalStrategy strategy;
    std::size_t hops;
    double tgl;      ///< roots a second, PEERS.md: scale 20, 2 cores, an idle machine; 0: none
    double pyg_lib;  ///< likewise
  };
  struct Peer {
    double roots_per_second;
    double edges_per_second;
    double with_insert;  ///< roots a second, the batches' events inserted too
  };

  void measure(const Case& what);
  void measure(const Case& what, EventOrder order);
  void hub();
  const TemporalBenchGraph& graph();
  const std::optional<Peer>& last_neighbor_loader();

  const TemporalBenchOptions& options_;
  std::unique_ptr<TemporalBenchGraph> graph_;
  bool asked_peer_ = false;
  std::optional<Peer> peer_;
};

}  // namespace sluice::bench
