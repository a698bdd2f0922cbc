// What a run that goes on over appended data (docs/continual.md) measured of what was there before.
#pragma once

#include <sluice/task.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice {

struct ReplayReport {
  std::string choose;  ///< "uniform" or "structure"
  std::uint64_t nodes = 0, old_nodes = 0;
  std::uint64_t queries = 0, old_queries = 0;
  double share = 0;  ///< of the loss that old queries have
};

struct ContinualReport {
  std::string from;         ///< the run that it goes on from; empty: none
  std::uint64_t stage = 0;  ///< 2 is the first that goes on
  std::optional<ReplayReport> replay;
  /// Of the old test queries, by name: "ap". Before the first step, and by the weights that were
  /// tested. Empty: there are none, or they could not be measured.
  std::map<std::string, double> before, after;

  /// How much worse each figure is after than before; below 0: it is better.
  std::map<std::string, double> forgetting;

  /// Fills in forgetting.
  void compare(const Task& task);
};

nlohmann::ordered_json to_json(const ContinualReport& report);
/// Lines of a report.
std::string to_text(const ContinualReport& report);

}  // namespace sluice
