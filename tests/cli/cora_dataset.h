// Cora's public split as a dataset, imported by configs/cora-graph.toml; for tests of processes.
#pragma once

#include "support/process.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace sluice::test {

/// The checkout under test: SLUICE_SOURCE, which ctest sets.
inline std::filesystem::path source_folder() {
  const char* dir = std::getenv("SLUICE_SOURCE");
  return dir == nullptr ? "." : dir;
}

/// Imports to `out`. False, with a message, where the files are not: $SLUICE_DATA/cora, or
/// ../shared/data/cora beside the checkout.
inline bool import_cora(const std::filesystem::path& out) {
  const char* data = std::getenv("SLUICE_DATA");
  const std::filesystem::path files =
      (data == nullptr ? source_folder() / "../shared/data" : std::filesystem::path(data)) / "cora";
  if (!std::filesystem::exists(files)) {
    MESSAGE("skipped: no Cora in " << files);
    return false;
  }
  const Outcome import = run({tool("sluice-prep"),
                              "import",
                              "--config",
                              source_folder() / "configs/cora-graph.toml",
                              "--root",
                              files,
                              "--out",
                              out});
  REQUIRE_MESSAGE(import.code == 0, import.err);
  return true;
}

}  // namespace sluice::test
