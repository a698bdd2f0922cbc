// Whether one generation of a dataset comes after another: what may be gone on with, and what is
// another graph.
#pragma once

#include "storage/format/manifest.h"

#include <filesystem>

namespace sluice {

/// Whether `now` is of the same graph as `before`, grown: the same node types, labels and
/// relations, the same feature tables and maybe more behind them, none with fewer nodes or edges,
/// and node files that are the same bytes where no node came. Errors: kData, for an earlier
/// generation or another graph.
/// @param root the dataset's directory, for errors
Result<void> check_succession(const Manifest& before,
                              const Manifest& now,
                              const std::filesystem::path& root);

}  // namespace sluice
