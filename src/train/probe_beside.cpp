#include "train/probe_beside.h"

#include "train/epoch_line.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using BesideJson = nlohmann::ordered_json;

probe::ProbeRequest request_of(const Parts& parts, const ProbeBeside& wanted) {
  probe::ProbeRequest request;
  request.node_type = parts.dataset.schema().nodes.at(parts.task->target_types().front()).name;
  request.classify = true;
  request.split = parts.options.dataset.split;
  request.floors = wanted.floors;
  request.random_width = parts.task->output_width();
  request.seed = parts.options.seed;
  request.linear = wanted.linear;
  return request;
}

// Nothing where it does not fit or cannot be measured, and why is in the log.
std::optional<probe::BesideReport> try_beside(Parts& parts,
                                              const probe::ProbeRequest& request,
                                              const probe::ProbedNodes& probed,
                                              Logger& log) {
  const char* const what = request.floors == probe::Floors::kNone ? "groups of nodes" : "floors";
  const std::uint64_t used = parts.ledger->used(), limit = parts.ledger->limit();
  const std::uint64_t free = limit - std::min(used, limit);
  const std::uint64_t bytes = probe::beside_bytes(request, parts.dataset);
  if (bytes > free) {
    log.info("{} are not measured: they take some {}, and {} of the budget are free",
             what,
             format_bytes(bytes),
             format_bytes(free));
    return std::nullopt;
  }
  try {
    return probe::measure_beside(request, parts.dataset, probed, parts.compute);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted) throw;
    log.info("{} are not measured: {}", what, error.message());
    return std::nullopt;
  }
}

BesideJson groups_json(const std::vector<probe::NodeGroup>& groups) {
  BesideJson all = BesideJson::array();
  for (const probe::NodeGroup& group : groups)
    all.push_back({{"name", group.name}, {"nodes", group.nodes}, {"accuracy", group.accuracy}});
  return all;
}

}  // namespace

std::optional<probe::BesideReport> measure_beside(Parts& parts,
                                                  const ProbeBeside& wanted,
                                                  Logger& log) {
  probe::ProbeRequest request = request_of(parts, wanted);
  auto beside = try_beside(parts, request, wanted.probed, log);
  if (beside || request.floors == probe::Floors::kNone) return beside;
  request.floors = probe::Floors::kNone;
  return try_beside(parts, request, wanted.probed, log);
}

nlohmann::ordered_json to_json(const probe::NodeGroups& groups) {
  return {{"degree", groups_json(groups.by_degree)}, {"distance", groups_json(groups.by_distance)}};
}

nlohmann::ordered_json to_json(const probe::BesideReport& beside) {
  BesideJson json = BesideJson::object();
  if (beside.groups) json["groups"] = to_json(*beside.groups);
  if (beside.floors.empty()) return json;
  BesideJson& floors = json["floors"] = BesideJson::array();
  for (const probe::RowsReport& floor : beside.floors) {
    if (!floor.classify) continue;
    const probe::ClassifyFigures& figures = *floor.classify;
    BesideJson own = {{"rows", floor.name},
                      {"columns", floor.columns},
                      {"valid.accuracy", figures.valid.mean},
                      {"test.accuracy", figures.test.mean},
                      {"test.f1_micro", figures.f1_micro.mean},
                      {"test.f1_macro", figures.f1_macro.mean}};
    if (figures.groups) own["groups"] = to_json(*figures.groups);
    floors.push_back(std::move(own));
  }
  return json;
}

std::string to_text(const probe::BesideReport& beside) {
  std::string text;
  for (const probe::RowsReport& floor : beside.floors)
    if (floor.classify)
      text += fmt::format("  {:<16}  {}: test.accuracy {}, test.f1_macro {}\n",
                          "floor",
                          floor.name,
                          figure_text(floor.classify->test.mean),
                          figure_text(floor.classify->f1_macro.mean));
  return text;
}

}  // namespace sluice
