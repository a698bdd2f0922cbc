// import PATH...: what files hold is found out, by a layout, instead of read from a graph.toml.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// What the user says about files without a graph.toml.
struct PathsRequest {
  std::vector<std::string> paths;
  std::string layout = "auto";
  std::optional<std::string> root;
  std::vector<std::string> sets;  ///< keys that are overridden
};

/// How they are described; as text too.
struct DescribedPaths {
  GraphSpec spec;
  std::string toml;
  std::vector<std::string> warnings;
};

/// Warnings go to the log. Throws Error where no layout fits.
DescribedPaths describe_paths(const PathsRequest& request,
                              const TableFormats& formats,
                              PrepContext& context);

/// The names of the layouts with a line each, for --help.
std::string layouts_help();

}  // namespace sluice::cli
