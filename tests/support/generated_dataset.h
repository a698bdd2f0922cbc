// A small dataset made by sluice-prep, for tests of processes and rooms that must not link the
// importers' libraries.
#pragma once

#include "support/process.h"

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::test {

/// 2000 nodes of 4 classes with 20 features, 10000 edges; about 400 nodes to train on, 200 to
/// validate, 200 to test.
/// @param more flags of `sluice-prep generate sbm` by name, in place of these or besides
inline void generate_dataset(const std::filesystem::path& out,
                             const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> flags{{"--nodes", "2000"},
                                           {"--edges", "10000"},
                                           {"--features", "20"},
                                           {"--classes", "4"},
                                           {"--signal", "2"},
                                           {"--train", "0.2"},
                                           {"--valid", "0.1"},
                                           {"--test", "0.1"}};
  for (const auto& [flag, value] : more) flags[flag] = value;
  std::vector<std::string> command{
      tool("sluice-prep"), "generate", "sbm", "--overwrite", "--out", out.string()};
  for (const auto& [flag, value] : flags) command.insert(command.end(), {flag, value});
  const Outcome outcome = run(command);
  if (outcome.code != 0) throw std::runtime_error("sluice-prep failed: " + outcome.err);
}

}  // namespace sluice::test
