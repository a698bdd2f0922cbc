// RunCounters: what loaders counted and what their consumer did, summed over epochs, evaluations
// and the sessions of a resumed run; and how reports show it.
#pragma once

#include <sluice/loader_stats.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct RunCounters {
  std::uint64_t requests = 0;
  RequestLatency latency;
  CacheCounts cache;
  std::vector<StageTimes> stages;  ///< each name once

  RunCounters& operator+=(const LoaderStats& stats);
};

/// What reports and metrics.jsonl hold under "requests", "cache" and "stages"; seconds.
nlohmann::ordered_json requests_json(const RunCounters& counters);
nlohmann::ordered_json cache_json(const RunCounters& counters);
nlohmann::ordered_json stages_json(const RunCounters& counters);
/// The same for people: a line each, stages a line by stage; two spaces before every line.
std::string to_text(const RunCounters& counters);

/// All of it, for checkpoints.
nlohmann::json to_json(const RunCounters& counters);
/// @throws nlohmann's errors where something is missing or of another type
RunCounters counters_of(const nlohmann::json& json);

}  // namespace sluice
