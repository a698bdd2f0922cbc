// Files that are not read: which may be passed over without a word, and what to do about the
// others. Pure functions.
#pragma once

#include "prep/layout/file_set.h"

#include <string>
#include <vector>

namespace sluice {

/// A text, a script or a log that goes with data: README, LICENSE, .py, .log, a graph.toml.
bool goes_with_data(const std::string& name);

/// A file's extension as its format would be told by it; that of compression is passed over.
std::string extension_of(const std::string& name);

/// Why a file of an unknown format is not read, and what to do: "JSON is not read: ...".
std::string why_unread(const std::string& name);

/// The files of formats that are not known, which may hold data all the same: a line each, "NAME:
/// why". @param said what names some of them already
std::vector<std::string> unread_files(const FileSet& files, const std::string& said);

}  // namespace sluice
