// Conversion of events in the order of time to a temporal CSC in memory: neighbours, edge ids and
// times by target, beside SciPy's kernel; and what hubs cost.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

struct EventOptions {
  std::string dir = ".";  ///< where the peer's input is written
  std::uint64_t scale = 22;
  std::uint64_t threads = 2;
  std::uint64_t rounds = 5;  ///< the middle one counts
  std::uint64_t hub_scale = 14;
  std::uint64_t hub_events = 50'000'000;
  std::string peers;  ///< scripts/bench_peers; empty: no peer
};

/// 16 skewed events a node. Prints a line. Throws Error.
void measure_events(const EventOptions& options);

/// `hub_events` between 2^hub_scale nodes beside as many between 2^scale: `slower` is how many
/// times as long an event takes. Prints a line. Throws Error.
void measure_event_hubs(const EventOptions& options);

}  // namespace sluice::bench
