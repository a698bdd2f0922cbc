#include <sluice/tasks/labelled_type.h>

#include <sluice/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace sluice::tasks {
namespace {

bool has_kind(const NodeTypeSchema& nodes, const std::vector<LabelKind>& kinds) {
  return nodes.labels && std::find(kinds.begin(), kinds.end(), nodes.labels->kind) != kinds.end();
}

std::string kind_names(const std::vector<LabelKind>& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const LabelKind kind : kinds) names.emplace_back(to_string(kind));
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

std::size_t labelled_type(const GraphSchema& schema,
                          std::string_view node_type,
                          const std::vector<LabelKind>& kinds,
                          std::string_view task) {
  std::vector<std::size_t> found;
  std::vector<std::string> names;
  for (std::size_t type = 0; type < schema.nodes.size(); ++type) {
    const NodeTypeSchema& nodes = schema.nodes[type];
    if (!has_kind(nodes, kinds)) continue;
    if (nodes.name == node_type) return type;
    found.push_back(type);
    names.push_back(nodes.name);
  }
  if (node_type.empty() && found.size() == 1) return found[0];
  const std::string labelled =
      names.empty() ? "none has them" : fmt::format("these have them: {}", fmt::join(names, ", "));
  if (!node_type.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("task '{}': there is no node type '{}' with {} labels",
                            task,
                            node_type,
                            kind_names(kinds)),
                labelled);
  }
  if (found.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format(
            "task '{}' needs {} labels, and no node type has them", task, kind_names(kinds)),
        "choose the task that fits the labels, or import labels");
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("task '{}': several node types have labels", task),
              fmt::format("set [task] node_type to one of {}", fmt::join(names, ", ")));
}

}  // namespace sluice::tasks
