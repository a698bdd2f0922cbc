#include "prep/table/column_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace sluice {
namespace {

using namespace std::string_view_literals;

bool is_name_of(const std::string& name, std::span<const std::string_view> names) {
  const std::string lower = lower_name(name);
  return std::find(names.begin(), names.end(), lower) != names.end();
}

/// Names that mean one thing in any table, and come in pairs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kEndNames{
    {{"src"sv, "dst"sv},
     {"src"sv, "dest"sv},
     {"src_id"sv, "dst_id"sv},
     {"source"sv, "target"sv},
     {"source"sv, "destination"sv},
     {"source"sv, "dest"sv},
     {"source_id"sv, "target_id"sv},
     {"sourceid"sv, "targetid"sv},
     {"from"sv, "to"sv},
     {"from_id"sv, "to_id"sv},
     {"head"sv, "tail"sv},
     {"subject"sv, "object"sv},
     {"sender"sv, "receiver"sv},
     {"node1"sv, "node2"sv},
     {"node_1"sv, "node_2"sv},
     {":start_id"sv, ":end_id"sv}}};

}  // namespace

std::string lower_name(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_index_name(const std::string& name, std::size_t place) {
  static constexpr std::array kFirst{
      ""sv, "index"sv, "level_0"sv, "rownames"sv, "row_names"sv, "row.names"sv};
  if (name.starts_with("Unnamed: ") || name.starts_with("__index_level_")) return true;
  const bool blank = name.find_first_not_of(" \t") == std::string::npos;
  return place == 0 && (blank || is_name_of(name, kFirst));
}

bool is_id_name(const std::string& name) {
  static constexpr std::array kIds{"id"sv,
                                   "ids"sv,
                                   "_id"sv,
                                   ":id"sv,
                                   "node"sv,
                                   "node_id"sv,
                                   "node_ids"sv,
                                   "nodeid"sv,
                                   "node id"sv,
                                   "nid"sv,
                                   "vertex"sv,
                                   "vertex_id"sv,
                                   "vertexid"sv,
                                   "vid"sv,
                                   "entity_id"sv,
                                   "uuid"sv};
  return is_name_of(name, kIds);
}

bool ends_in_id(const std::string& name) {
  if (name.size() < 3) return false;
  const std::string_view end = std::string_view(name).substr(name.size() - 2);
  const char before = name[name.size() - 3];
  if (end == "Id" || end == "ID")
    return std::islower(static_cast<unsigned char>(before)) != 0 || before == '_' ||
           before == ' ' || before == '-';
  return end == "id" && (before == '_' || before == ' ' || before == '-' || before == '.');
}

bool is_id_name(const std::string& name, std::size_t place) {
  return is_id_name(name) || (place == 0 && ends_in_id(name));
}

bool is_edge_id_name(const std::string& name) {
  static constexpr std::array kIds{"id"sv,
                                   "_id"sv,
                                   "eid"sv,
                                   "edge_id"sv,
                                   "edgeid"sv,
                                   "edge id"sv,
                                   "edge"sv,
                                   "link_id"sv,
                                   "uuid"sv};
  return is_name_of(name, kIds);
}

bool says_edge_index(const std::string& name) {
  const std::string lower = lower_name(name);
  return lower.find("edge_index") != std::string::npos ||
         lower.find("edgeindex") != std::string::npos;
}

std::optional<std::pair<std::size_t, std::size_t>> ends_by_name(
    const std::vector<ColumnInfo>& columns) {
  const auto find = [&](std::string_view wanted) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].width == 1 && lower_name(columns[i].name) == wanted) return i;
    return std::nullopt;
  };
  for (const auto& [source, target] : kEndNames) {
    const auto from = find(source), to = find(target);
    if (from && to) return std::pair(*from, *to);
  }
  return std::nullopt;
}

}  // namespace sluice
