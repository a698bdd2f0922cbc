// A run of one of the configs in configs/. Most of them are run by a train_configs*_test.cpp.
#pragma once

#include "cli/cora_dataset.h"
#include "cli/train_support.h"

namespace sluice::test {

inline nlohmann::json run_config(const std::string& name,
                                 const std::filesystem::path& dataset,
                                 const TempDir& dir,
                                 const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"run",
                                     (source_folder() / "configs" / name).string(),
                                     "--json",
                                     "--set",
                                     "dataset.path=" + dataset.string(),
                                     "--set",
                                     "run.dir=" + (dir / ("run-" + name)).string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = train(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return nlohmann::json::parse(outcome.out);
}

}  // namespace sluice::test
