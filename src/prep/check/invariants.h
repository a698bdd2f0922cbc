// What must hold of a dataset's content beyond its checksums. Each check streams its file in
// bounded memory.
#pragma once

#include "storage/format/manifest.h"

#include <sluice/memory.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// One line for each broken invariant, naming the file. @pre sizes and checksums hold
std::vector<std::string> check_invariants(const std::filesystem::path& root,
                                          const Manifest& manifest,
                                          MemoryLedger& ledger);

}  // namespace sluice
