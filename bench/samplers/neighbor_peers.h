// The peers of the neighbour-sampling cases: the same graph, mini-batches of seeds and fanout,
// sampled by libraries that only run in Python.
#pragma once

#include "bench/samplers/sampling.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sluice::bench {

/// One object a peer, as bench/samplers/peers.py prints them.
/// @param script scripts/bench_peers
/// @param dir where the graph and the seeds are written for them; gone afterwards
std::vector<nlohmann::ordered_json> run_neighbor_peers(const std::string& script,
                                                       const std::string& dir,
                                                       const BenchGraph& graph,
                                                       const SamplingWork& work);

}  // namespace sluice::bench
