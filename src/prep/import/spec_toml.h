// A GraphSpec as the text of a graph.toml: what differs from the defaults, and why where somebody
// said so.
#pragma once

#include "prep/import/graph_spec.h"

#include <map>
#include <string>
#include <vector>

namespace sluice {

/// What is said beside the keys of a graph.toml.
struct SpecComments {
  std::vector<std::string> head;  ///< above everything, a paragraph each
  /// By table ("nodes[0]", "graphs") or key ("edges[1].labels.file", "csv.header"). A key that has
  /// a comment is printed though it has its default.
  std::map<std::string, std::string> at;
  /// By table: lines of TOML that could be keys of it, printed behind a '#' each.
  std::map<std::string, std::vector<std::string>> offers = {};
};

/// The spec as TOML that binds back to the same spec. @param known the formats of its tables
std::string to_toml(const GraphSpec& spec,
                    const TableFormats& known,
                    const SpecComments& comments = {});

}  // namespace sluice
