// A program run as a child: its stdout, with its stderr shown as it comes. So every run's peak
// memory is its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::bench {

/// The folder that the programs of this build are in: this benchmark's folder's parent.
std::filesystem::path build_folder();

/// What the child wrote to stdout. Throws Error where it cannot be started, or ends with another
/// exit code than 0 (whose own error its stderr has said).
std::string run_child(const std::vector<std::string>& command);

}  // namespace sluice::bench
