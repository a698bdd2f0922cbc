// Graphs whose files are beside the checkout, imported by the configs that ship; for tests of
// processes.
#pragma once

#include "cli/cora_dataset.h"
#include "support/process.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::test {

/// The dataset that a config of sluice-prep makes of a folder of $SLUICE_DATA; nothing, with a
/// message, where that is not there.
inline std::optional<std::filesystem::path> import_by(const TempDir& dir,
                                                      const std::filesystem::path& config,
                                                      const std::string& folder) {
  const char* data = std::getenv("SLUICE_DATA");
  const std::filesystem::path files =
      (data == nullptr ? source_folder() / "../shared/data" : std::filesystem::path(data)) / folder;
  if (!std::filesystem::exists(files)) {
    MESSAGE("skipped: no files in " << files);
    return std::nullopt;
  }
  const Outcome made = run({tool("sluice-prep"),
                            "import",
                            "--config",
                            config,
                            "--root",
                            files,
                            "--out",
                            dir / config.stem()});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  return dir / config.stem();
}

/// The same by one of configs/.
inline std::optional<std::filesystem::path> import_graph(const TempDir& dir,
                                                         const std::string& graph,
                                                         const std::string& folder) {
  return import_by(dir, source_folder() / "configs" / graph, folder);
}

}  // namespace sluice::test
