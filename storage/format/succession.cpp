#include "storage/format/succession.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace sluice {
namespace {

bool same_table(const FeatureSchema& before, const FeatureSchema& now) {
  return before.name == now.name && before.dtype == now.dtype && before.dim == now.dim &&
         before.entries == now.entries;
}

bool same_labels(const std::optional<LabelSchema>& before, const std::optional<LabelSchema>& now) {
  if (!before || !now) return before.has_value() == now.has_value();
  return before->kind == now->kind && before->width == now->width;
}

bool same_file(const Manifest& before, const Manifest& now, const std::string& path) {
  const auto old_file = before.files.find(path);
  const auto new_file = now.files.find(path);
  if (old_file == before.files.end() || new_file == now.files.end())
    return (old_file == before.files.end()) == (new_file == now.files.end());
  return old_file->second.digest == new_file->second.digest;
}

// What is wrong with the nodes of a type, or nothing.
std::string trouble_with(const NodeTypeSchema& node, const Manifest& before, const Manifest& now) {
  const NodeTypeSchema* later = now.schema.node_type(node.name);
  if (later == nullptr) return fmt::format("it has no node type '{}' any more", node.name);
  if (later->count < node.count) {
    return fmt::format(
        "it has {} nodes of type '{}', there were {}", later->count, node.name, node.count);
  }
  // New tables behind those that were there are of no matter to who opened these.
  bool same = node.features.size() <= later->features.size() &&
              same_labels(node.labels, later->labels) && node.has_times == later->has_times;
  for (std::size_t i = 0; same && i < node.features.size(); ++i)
    same = same_table(node.features[i], later->features[i]);
  if (!same) return fmt::format("nodes of type '{}' have other features or labels", node.name);
  if (later->count != node.count) return {};
  for (const FeatureSchema& table : node.features)
    same = same && same_file(before, now, node_path(node.name, table.name + ".bin"));
  same = same && same_file(before, now, node_path(node.name, "labels.bin"));
  return same ? std::string()
              : fmt::format("features or labels of node type '{}' were replaced", node.name);
}

std::string trouble_with(const RelationSchema& relation, const Manifest& now) {
  const RelationSchema* later = now.schema.relation(relation.key());
  if (later == nullptr) return fmt::format("it has no relation '{}' any more", relation.key());
  if (later->has_weights != relation.has_weights || later->has_times != relation.has_times)
    return fmt::format("relation '{}' has other attributes", relation.key());
  const std::uint64_t edges = later->edges + later->appended;
  if (edges >= relation.edges + relation.appended) return {};
  return fmt::format("relation '{}' has {} edges, there were {}",
                     relation.key(),
                     edges,
                     relation.edges + relation.appended);
}

std::string trouble_between(const Manifest& before, const Manifest& now) {
  if (now.generation <= before.generation) {
    return fmt::format(
        "it is of generation {}, what was opened of {}", now.generation, before.generation);
  }
  if (now.schema.nodes.size() != before.schema.nodes.size() ||
      now.schema.relations.size() != before.schema.relations.size())
    return "it has other node types or relations";
  for (const NodeTypeSchema& node : before.schema.nodes) {
    if (std::string trouble = trouble_with(node, before, now); !trouble.empty()) return trouble;
  }
  for (const RelationSchema& relation : before.schema.relations) {
    if (std::string trouble = trouble_with(relation, now); !trouble.empty()) return trouble;
  }
  return {};
}

}  // namespace

Result<void> check_succession(const Manifest& before,
                              const Manifest& now,
                              const std::filesystem::path& root) {
  const std::string trouble = trouble_between(before, now);
  if (trouble.empty()) return {};
  return Error(ErrorCode::kData,
               "the dataset was replaced by another one: " + trouble,
               "bring the dataset back, or start a new run in another directory",
               Place{root.string(), -1, -1, -1});
}

}  // namespace sluice
