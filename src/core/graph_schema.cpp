#include <sluice/graph_schema.h>

#include <algorithm>

namespace sluice {

const NodeTypeSchema* GraphSchema::node_type(std::string_view name) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

const RelationSchema* GraphSchema::relation(std::string_view key) const {
  const auto found = std::find_if(relations.begin(), relations.end(), [&](const auto& relation) {
    return relation.key() == key;
  });
  return found == relations.end() ? nullptr : &*found;
}

const SplitSchema* GraphSchema::split(std::string_view name) const {
  const auto found = std::find_if(
      splits.begin(), splits.end(), [&](const auto& split) { return split.name == name; });
  return found == splits.end() ? nullptr : &*found;
}

std::uint64_t GraphSchema::total_nodes() const {
  std::uint64_t sum = 0;
  for (const NodeTypeSchema& node : nodes) sum += node.count;
  return sum;
}

std::uint64_t GraphSchema::total_edges() const {
  std::uint64_t sum = 0;
  for (const RelationSchema& relation : relations) sum += relation.edges;
  return sum;
}

std::string_view feature_dtype_name(DType dtype) {
  return dtype == DType::kI8 ? "int8" : to_string(dtype);
}

std::optional<DType> parse_feature_dtype(std::string_view name) {
  if (name == "int8") return DType::kI8;
  const auto dtype = parse_dtype(name);
  return dtype == DType::kI8 ? std::nullopt : dtype;
}

std::string_view to_string(LabelKind kind) {
  switch (kind) {
    case LabelKind::kClass:
      return "class";
    case LabelKind::kMultiLabel:
      return "multi_label";
    case LabelKind::kRegression:
      return "regression";
  }
  return "?";
}

std::string_view to_string(IdKind kind) {
  switch (kind) {
    case IdKind::kDense:
      return "dense";
    case IdKind::kInteger:
      return "integer";
    case IdKind::kString:
      return "string";
  }
  return "?";
}

}  // namespace sluice
