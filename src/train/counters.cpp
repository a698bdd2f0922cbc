#include "train/counters.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace sluice {
namespace {

using Ordered = nlohmann::ordered_json;
using CountersJson = nlohmann::json;

// Whether a stage had something to do: windows pass through `fetch` from memory, too.
bool has_worked(const StageTimes& stage, const RunCounters& counters) {
  constexpr double kShown = 0.005;  // seconds: less would be written as 0.00
  return stage.busy >= kShown || (stage.name == "fetch" && counters.requests > 0);
}

double p99(const RequestLatency& latency) {
  return std::chrono::duration<double>(latency.quantile(0.99)).count();
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

RunCounters& RunCounters::operator+=(const LoaderStats& stats) {
  requests += stats.requests;
  latency += stats.latency;
  cache += stats.cache;
  for (const StageTimes& more : stats.stages) {
    auto stage = std::ranges::find(stages, more.name, &StageTimes::name);
    if (stage == stages.end()) stage = stages.insert(stage, {more.name});
    stage->busy += more.busy;
    stage->starved += more.starved;
    stage->blocked += more.blocked;
  }
  return *this;
}

Ordered requests_json(const RunCounters& counters) {
  return {{"count", counters.requests},
          {"mean_seconds", counters.latency.mean()},
          {"p99_seconds", p99(counters.latency)}};
}

Ordered cache_json(const RunCounters& counters) {
  const CacheCounts& cache = counters.cache;
  return {{"wanted", cache.wanted},
          {"hits", {{"window_before", cache.hits_window}, {"kept", cache.hits_kept}}},
          {"misses", {{"first", cache.misses_first}, {"again", cache.misses_again}}}};
}

Ordered stages_json(const RunCounters& counters) {
  Ordered json = Ordered::object();
  for (const StageTimes& stage : counters.stages) {
    json[stage.name] = {
        {"busy", stage.busy}, {"starved", stage.starved}, {"blocked", stage.blocked}};
  }
  return json;
}

std::string to_text(const RunCounters& counters) {
  std::string text;
  for (const StageTimes& stage : counters.stages) {
    if (!has_worked(stage, counters)) continue;
    text += fmt::format("  {:<16}  busy {:.2f} s, starved {:.2f} s, blocked {:.2f} s\n",
                        stage.name,
                        stage.busy,
                        stage.starved,
                        stage.blocked);
  }
  if (counters.requests > 0) {
    text += fmt::format("  {:<16}  {}, {:.2f} ms each on average, 99 % within {:.2f} ms\n",
                        "requests",
                        format_count(counters.requests),
                        1e3 * counters.latency.mean(),
                        1e3 * p99(counters.latency));
  }
  const CacheCounts& cache = counters.cache;
  if (cache.wanted > 0) {
    text += fmt::format(
        "  {:<16}  {} rows wanted: {} there from the window before, {} kept for longer, {} read "
        "for "
        "the first time, {} again\n",
        "row cache",
        format_count(cache.wanted),
        share(cache.hits_window, cache.wanted),
        share(cache.hits_kept, cache.wanted),
        share(cache.misses_first, cache.wanted),
        share(cache.misses_again, cache.wanted));
  }
  return text;
}

CountersJson to_json(const RunCounters& counters) {
  CountersJson stages = CountersJson::array();
  for (const StageTimes& stage : counters.stages)
    stages.push_back({stage.name, stage.busy, stage.starved, stage.blocked});
  const CacheCounts& cache = counters.cache;
  return {
      {"requests", counters.requests},
      {"latency_sum_ns", counters.latency.sum_ns},
      {"latency_log2_us", counters.latency.log2_us},
      {"cache",
       {cache.wanted, cache.hits_window, cache.hits_kept, cache.misses_first, cache.misses_again}},
      {"stages", stages}};
}

RunCounters counters_of(const CountersJson& json) {
  RunCounters counters;
  counters.requests = json.at("requests");
  counters.latency.sum_ns = json.at("latency_sum_ns");
  json.at("latency_log2_us").get_to(counters.latency.log2_us);
  const CountersJson& cache = json.at("cache");
  counters.cache = {cache.at(0), cache.at(1), cache.at(2), cache.at(3), cache.at(4)};
  for (const CountersJson& stage : json.at("stages"))
    counters.stages.push_back({stage.at(0), stage.at(1), stage.at(2), stage.at(3)});
  return counters;
}

}  // namespace sluice
