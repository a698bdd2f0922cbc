#include "prep/update/added_tables.h"

#include "storage/format/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// What else lies in a node type's folder (FORMAT.md, "Directory"), whether this type has it or not.
constexpr std::array<std::string_view, 4> kTakenNames{"labels", "ids", "ids.offsets", "times"};

}  // namespace

void check_table_name(const std::string& name) {
  if (const std::string problem = name_problem(name); !problem.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}' is no name for a table: {}", name, problem),
                "choose another --name: letters, digits, '-' and '.', at most 100 of them");
  if (std::ranges::count(kTakenNames, std::string_view(name)) == 0) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("'{}' is no name for a table: a node type's own {} lie in that file",
                          name,
                          name == "ids.offsets" ? "ids" : name),
              "choose another --name; labels, ids, ids.offsets and times are taken");
}

void keep_beside(NextGeneration& next,
                 const std::string& node_type,
                 std::span<const FeatureSchema> tables) {
  const GraphSchema& old = next.old_manifest().schema;
  GraphSchema& schema = next.writer().schema();
  for (const NodeTypeSchema& node : old.nodes) {
    NodeTypeSchema kept = node;
    std::vector<std::string> left_out;
    for (const FeatureSchema& table : tables) {
      if (node.name != node_type) break;
      const auto same = std::ranges::find(kept.features, table.name, &FeatureSchema::name);
      if (same == kept.features.end()) {
        kept.features.push_back(table);
      } else {
        *same = table;
        left_out.push_back(node_path(node_type, table.name + ".bin"));
      }
    }
    next.keep_nodes(node, left_out);
    schema.nodes.push_back(std::move(kept));
  }
  next.keep_splits();
  for (const RelationSchema& relation : old.relations) {
    next.keep_relation(relation);
    schema.relations.push_back(relation);
  }
  if (old.partitions) next.keep_partitions();
}

}  // namespace sluice
