// Shipped configs as dry runs: that they fit their datasets and their budgets.
#pragma once

#include "cli/imported_graph.h"
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

inline void check_dry_run(const std::string& config,
                          const std::filesystem::path& dataset,
                          const TempDir& dir) {
  CAPTURE(config);
  const Outcome outcome = train({"run",
                                 (source_folder() / "configs" / config).string(),
                                 "--dry-run",
                                 "--json",
                                 "--set",
                                 "dataset.path=" + dataset.string(),
                                 "--set",
                                 "run.dir=" + (dir / "run").string()});
  if (outcome.code == 4 && outcome.err.find("this process may use") != std::string::npos) {
    MESSAGE("skipped: " << config << " asks for more memory than this machine grants");
    return;
  }
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  if (outcome.code == 0) CHECK(nlohmann::json::parse(outcome.out).contains("estimate"));
}

// All over one dataset; nothing where its files are not there.
inline void check_dry_runs(const std::string& graph,
                           const std::string& folder,
                           const std::vector<std::string>& configs) {
  const TempDir dir;
  const auto dataset = import_graph(dir, graph, folder);
  if (!dataset) return;
  for (const std::string& config : configs) check_dry_run(config, *dataset, dir);
}

}  // namespace sluice::test
