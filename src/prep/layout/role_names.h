// Names that columns usually have, by what they are for. Private to src/prep/layout.
#pragma once

#include "prep/table/column_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

using NameList = std::span<const std::string_view>;

inline bool is_called(const std::string& name, NameList names) {
  const std::string lower = lower_name(name);
  return std::find(names.begin(), names.end(), lower) != names.end();
}

inline constexpr std::array<std::string_view, 17> kSourceNames{"src",
                                                               "source",
                                                               "from",
                                                               "u",
                                                               "head",
                                                               "src_id",
                                                               "source_id",
                                                               "from_id",
                                                               "node1",
                                                               "node_1",
                                                               "subject",
                                                               "sender",
                                                               "row",
                                                               "start",
                                                               ":start_id",
                                                               "s",
                                                               "h"};
inline constexpr std::array<std::string_view, 18> kTargetNames{"dst",
                                                               "target",
                                                               "to",
                                                               "v",
                                                               "tail",
                                                               "dest",
                                                               "destination",
                                                               "dst_id",
                                                               "target_id",
                                                               "to_id",
                                                               "node2",
                                                               "node_2",
                                                               "object",
                                                               "receiver",
                                                               "col",
                                                               "end",
                                                               ":end_id",
                                                               "t"};
inline constexpr std::array<std::string_view, 12> kTimeNames{"time",
                                                             "ts",
                                                             "timestamp",
                                                             "unixtime",
                                                             "unix_time",
                                                             "datetime",
                                                             "year",
                                                             "date",
                                                             "since",
                                                             "when",
                                                             "created_at",
                                                             "occurred_at"};
inline constexpr std::array<std::string_view, 5> kWeightNames{
    "weight", "w", "weights", "edge_weight", "data"};
inline constexpr std::array<std::string_view, 9> kTypeNames{
    "type", "relation", "rel", "edge_type", "etype", "predicate", "layer", "r", ":type"};
inline constexpr std::array<std::string_view, 3> kLabelNames{"label", "y", "edge_label"};
/// Of nodes.
inline constexpr std::array<std::string_view, 9> kNodeLabelNames{
    "label", "labels", "class", "classes", "y", "target", "node_label", "label_id", "class_id"};

}  // namespace sluice
