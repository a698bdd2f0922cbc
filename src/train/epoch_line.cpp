#include "train/epoch_line.h"

#include "core/json_text.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr double kSeldom = 0.1;  // share of the time

bool moved_rows(const RowFigures& rows) {
  return rows.bytes_read + rows.bytes_written > 0 || rows.waited > 0;
}

}  // namespace

std::string bound_of(const std::vector<StageTimes>& stages, double seconds, double rows_waited) {
  double disk = 0;
  double sample = 0;
  for (const StageTimes& stage : stages) {
    if (stage.name == "step") {
      if (stage.starved <= kSeldom * seconds)
        return rows_waited <= kSeldom * seconds ? "compute" : "disk";
    } else {
      (stage.name == "fetch" || stage.name == "repack" ? disk : sample) += stage.busy;
    }
  }
  return disk >= sample ? "disk" : "sample";
}

std::string figure_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "none";
}

std::string to_json_line(const EpochLine& line) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const auto& [name, value] : line.metrics) metrics[name] = value;
  nlohmann::ordered_json json = {
      {"epoch", line.epoch},
      {"metrics", metrics},
      {"best", line.best},
      {"seconds", line.seconds},
      {"seeds_per_second", line.seeds_per_second},
      {"bytes",
       {{"read", line.bytes_read}, {"written", line.bytes_written}, {"useful", line.bytes_useful}}},
      {"requests", requests_json(line.counters)},
      {"cache", cache_json(line.counters)},
      {"stages", stages_json(line.counters)},
      {"bound", line.bound},
      {"generation", line.generation}};
  if (moved_rows(line.rows))
    json["rows"] = {{"bytes_read", line.rows.bytes_read},
                    {"bytes_written", line.rows.bytes_written},
                    {"waited", line.rows.waited}};
  if (line.partitions)
    json["partitions"] = {{"swaps", line.partitions->swaps},
                          {"bytes_read", line.partitions->bytes_read},
                          {"bytes_written", line.partitions->bytes_written},
                          {"waited", line.partitions->waited}};
  return json_text(json);
}

std::string to_text(const EpochLine& line) {
  std::string text = fmt::format("epoch {}/{}", line.epoch, line.epochs);
  for (const std::string& name : {std::string("train.loss"), line.shown}) {
    const auto metric = line.metrics.find(name);
    if (metric != line.metrics.end())
      text += fmt::format("  {} {}", name, figure_text(metric->second));
  }
  if (line.best) text += " (best)";
  if (line.partitions)
    text +=
        fmt::format("  swaps {}, waited {:.2f} s", line.partitions->swaps, line.partitions->waited);
  else if (line.rows.waited > kSeldom * line.seconds)
    text += fmt::format("  waited {:.2f} s for rows", line.rows.waited);
  return text + fmt::format("  {:.2f} s  {} seeds/s  read {}  bound: {}",
                            line.seconds,
                            format_count(static_cast<std::uint64_t>(line.seeds_per_second)),
                            format_bytes(line.bytes_read),
                            line.bound);
}

}  // namespace sluice
