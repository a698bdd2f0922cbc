#include "train/continual_report.h"

#include "train/epoch_line.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice {

void ContinualReport::compare(const Task& task) {
  forgetting.clear();
  for (const auto& [name, value] : after) {
    const auto was = before.find(name);
    if (was == before.end()) continue;
    const double fallen = was->second - value;
    forgetting[name] = task.direction(name) == Better::kHigher ? fallen : -fallen;
  }
}

nlohmann::ordered_json to_json(const ContinualReport& report) {
  nlohmann::ordered_json json = {{"from", report.from}, {"stage", report.stage}};
  if (report.replay) {
    const ReplayReport& own = *report.replay;
    json["replay"] = {{"choose", own.choose},
                      {"nodes", own.nodes},
                      {"old_nodes", own.old_nodes},
                      {"queries", own.queries},
                      {"old_queries", own.old_queries},
                      {"share", own.share}};
  }
  json["old_test"] = {{"before", report.before}, {"after", report.after}};
  json["forgetting"] = report.forgetting;
  return json;
}

std::string to_text(const ContinualReport& report) {
  std::string text = fmt::format("  {:<16}  stage {}{}\n",
                                 "continual",
                                 report.stage,
                                 report.from.empty() ? "" : ", from " + report.from);
  if (report.replay) {
    const ReplayReport& own = *report.replay;
    text += fmt::format(
        "  {:<16}  {}: {} of {} old nodes, {} of {} old queries, {:.0f} % of the loss\n",
        "replay",
        own.choose,
        own.nodes,
        own.old_nodes,
        own.queries,
        own.old_queries,
        100 * own.share);
  }
  for (const auto& [name, value] : report.forgetting)
    text += fmt::format("  {:<16}  old test {} before, {} after: {} worse\n",
                        name,
                        figure_text(report.before.at(name)),
                        figure_text(report.after.at(name)),
                        figure_text(value));
  return text;
}

}  // namespace sluice
