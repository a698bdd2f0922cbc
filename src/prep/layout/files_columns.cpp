// What the columns of a table of nodes are: ids, features, labels, times, masks, or nothing of
// these, which is said.
#include "prep/layout/files_guess.h"
#include "prep/layout/role_names.h"
#include "prep/layout/scaling_guess.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

/// As TOML writes it.
std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool are_truths(const ColumnGlance& column) {
  if (column.texts.empty() || !column.different.empty()) return false;
  return std::all_of(column.texts.begin(), column.texts.end(), [](const std::string& text) {
    const std::string word = lower_name(text);
    return word == "true" || word == "false";
  });
}

bool says_split(const std::string& name) {
  const std::string lower = lower_name(name);
  return lower == "split" || lower == "is_train" || lower == "is_test";
}

/// The columns of a table of nodes, by what is made of them.
struct NodeColumns {
  std::vector<std::string> features;
  std::string label, time;
  std::vector<std::pair<std::string, std::size_t>> offered;  ///< as labels, with their classes
  MaskColumns masks;
  std::vector<std::string> left;  ///< "name (why)"
};

class NodeColumnsGuess {
 public:
  explicit NodeColumnsGuess(const TableGlance& seen) : seen_(seen) {}

  NodeColumns run(std::size_t key) {
    const bool matrix =
        std::any_of(seen_.columns.begin(), seen_.columns.end(), [](const ColumnGlance& column) {
          return column.info.width > 1 && column.info.dtype && !says_mask(column.info.name);
        });
    for (std::size_t i = 0; i < seen_.columns.size(); ++i)
      if (i != key) sort(seen_.columns[i], i, matrix);
    return std::move(found_);
  }

 private:
  void leave(const ColumnGlance& column, const std::string& why) {
    const std::string& name = column.info.name;
    found_.left.push_back(fmt::format("{} ({})", name.empty() ? "one without a name" : name, why));
  }

  void sort(const ColumnGlance& column, std::size_t place, bool matrix) {
    const std::string& name = column.info.name;
    if (is_index_name(name, place)) return leave(column, "an index");
    if (says_mask(name)) return take_mask(column);
    if (column.info.width != 1) return take_matrix(column);
    if (!column.has_values()) return leave(column, "it is empty");
    if (says_split(name))
      return leave(column, "a split is files of ids, masks, or ratio, in a [[splits]]");
    if (are_truths(column)) return leave(column, "true and false; write 1 and 0 for a feature");
    if (found_.label.empty() && is_called(name, kNodeLabelNames) && may_be_label(column)) {
      found_.label = name;
    } else if (!column.numbers) {
      take_text(column);
    } else if (is_called(name, kTimeNames) || looks_like_time(column)) {
      take_time(column);
    } else if (column.integers && ends_in_id(name)) {
      leave(column, "it looks like the id of something else");
    } else if (matrix) {
      leave(column, "features are the array beside it");
    } else {
      take_number(column);
    }
  }

  bool may_be_label(const ColumnGlance& column) const {
    if (column.numbers) return true;
    return column.texts.size() < seen_.rows - column.empty;
  }

  void take_mask(const ColumnGlance& column) {
    const std::string why = found_.masks.take(column, seen_.rows);
    if (!why.empty()) leave(column, why);
  }

  void take_matrix(const ColumnGlance& column) {
    if (!found_.features.empty() || !column.info.dtype || column.info.width == 0)
      return leave(column, "features are one array, or columns of a number each");
    found_.features.push_back(column.info.name);
  }

  void take_text(const ColumnGlance& column) {
    constexpr std::size_t kMostClasses = 1000;
    const std::size_t classes = column.texts.size() + column.different.size();
    if (classes < 2) return leave(column, "it says the same in each row");
    if (looks_like_dates(column))
      return leave(column, "dates; as days since 1970, say, they would be a feature or a time");
    if (classes >= seen_.rows - column.empty || classes > kMostClasses)
      return leave(column, fmt::format("{} different texts", format_count(classes)));
    found_.offered.emplace_back(column.info.name, classes);
  }

  void take_time(const ColumnGlance& column) {
    if (column.integers && !column.missing && found_.time.empty()) {
      found_.time = column.info.name;
    } else {
      leave(column, column.missing ? "a time, some of which are missing" : "a second time");
    }
  }

  void take_number(const ColumnGlance& column) { found_.features.push_back(column.info.name); }

  const TableGlance& seen_;
  NodeColumns found_;
};

}  // namespace

/// How the ids of a type with a table are read.
void FilesGuess::describe_node_ids(NodeSpec& node) {
  const auto found = node_tables_.find(node.type);
  if (found == node_tables_.end()) return;
  const NodeTable& nodes = found->second;
  const Table& table = tables_[nodes.table];
  const TableGlance& seen = table.guess.glance;
  const ColumnGlance& ids = seen.columns[nodes.column];
  const std::string path = where(node);
  const std::string& column = ids.info.name;
  const std::string reason =
      fmt::format("{} lists these nodes: its column {} holds {} ids of {}{}.",
                  table.role.file,
                  column,
                  nodes.share.text(),
                  nodes.edges,
                  nodes.whole ? "" : " in its first rows");
  rows_[node.type] = seen.whole ? seen.rows : rows_of(table.role.file);
  const bool counted = seen.whole && nodes.share.all() && nodes.whole && ids.integers &&
                       !ids.padded && ids.ascending && (ids.least == 0 || ids.least == 1) &&
                       static_cast<std::uint64_t>(ids.largest - ids.least) + 1 == seen.rows;
  if (counted) {
    node.count = static_cast<std::int64_t>(seen.rows);
    node.first_id = ids.least;
    return made_.comment(
        path + ".count",
        reason + fmt::format(" They are {} to {}, in order.", ids.least, ids.largest));
  }
  node.ids = ids.integers && !ids.padded ? IdKind::kInteger : IdKind::kString;
  node.id_list.file = table.role.file;
  node.id_list.column = column;
  node.id_list.format = table.guess.format;
  made_.comment(path + ".id_list.file", reason);
  if (nodes.share.all() && nodes.whole) return;
  node.unknown_ids = UnknownIds::kSkip;
  made_.comment(
      path + ".unknown_ids",
      nodes.share.all()
          ? "The first edges alone were looked at: those of other ids would be left out, "
            "and counted."
          : fmt::format("Edges of the {} other ids are left out, and counted: their nodes "
                        "would have no row of features.",
                        format_count(nodes.share.ids - nodes.share.found)));
}

void FilesGuess::describe_node_columns(NodeSpec& node) {
  const auto found = node_tables_.find(node.type);
  if (found == node_tables_.end()) return;
  take_columns(node, tables_[found->second.table], found->second.column, true);
  for (const std::size_t other : found->second.others)
    take_columns(node, tables_[keys_[other].table], keys_[other].column, false);
}

/// @param own whether its rows are in the order of the nodes; else they go by their ids
void FilesGuess::take_columns(NodeSpec& node, const Table& table, std::size_t key, bool own) {
  const TableGlance& seen = table.guess.glance;
  const std::string path = where(node), &file = table.role.file;
  NodeColumns columns = NodeColumnsGuess(seen).run(key);
  const std::string id = own ? "" : seen.columns[key].info.name;
  const auto leave = [&](const std::string& name, const std::string& why) {
    columns.left.push_back(fmt::format("{} ({})", name, why));
  };
  if (!columns.features.empty() && node.features.file.empty()) {
    FeatureSpec& features = node.features;
    features.file = file;
    features.columns = columns.features;
    features.format = table.guess.format;
    features.id_column = id;
    TableGlance taken;
    taken.whole = seen.whole;
    for (const ColumnGlance& column : seen.columns)
      if (std::count(columns.features.begin(), columns.features.end(), column.info.name) != 0)
        taken.columns.push_back(column);
    guess_scaling(taken, features, path + ".features", made_);
  } else {
    for (const std::string& name : columns.features)
      leave(name, fmt::format("features are those of {}", node.features.file));
  }
  const auto glance_of = [&](const std::string& name) {
    TableGlance only;
    only.whole = seen.whole;
    for (const ColumnGlance& column : seen.columns)
      if (column.info.name == name) only.columns = {column};
    return only;
  };
  if (!columns.label.empty() && node.labels.file.empty()) {
    made_.comment(path + ".labels.kind", guess_labels(glance_of(columns.label), node.labels));
    node.labels.file = file;
    node.labels.columns = {columns.label};
    node.labels.id_column = id;
    node.labels.format = table.guess.format;
  } else if (!columns.label.empty()) {
    leave(columns.label, fmt::format("labels are those of {}", node.labels.file));
  }
  if (!columns.time.empty() && node.times.file.empty()) {
    node.times.file = file;
    node.times.column = columns.time;
    node.times.id_column = id;
    node.times.format = table.guess.format;
    made_.comment(path + ".times.column", fmt::format("A time a node, by {}.", file));
  } else if (!columns.time.empty()) {
    leave(columns.time, "nodes have one time");
  }
  for (const auto& [name, classes] : columns.offered) {
    made_.offer(path, fmt::format("{} of {} could be the label, {} classes:", name, file, classes));
    made_.offer(path, "labels.file = " + toml_text(file));
    made_.offer(path, fmt::format("labels.columns = [{}]", toml_text(name)));
    made_.offer(path, "labels.kind = \"name\"");
    if (!id.empty()) made_.offer(path, "labels.id_column = " + toml_text(id));
    if (table.guess.format != "auto")
      made_.offer(path, "labels.format = " + toml_text(table.guess.format));
    leave(name, fmt::format("a text of {} different values; see the lines for labels", classes));
  }
  if (columns.masks.any())
    table_masks_.push_back({node.type, file, table.guess.format, id, std::move(columns.masks)});
  if (columns.left.empty()) return;
  const std::string at = own && !node.id_list.file.empty() ? ".id_list.column" : "";
  made_.comment(
      path + at,
      fmt::format("Columns of {} that are left out: {}.", file, fmt::join(columns.left, ", ")));
}

}  // namespace sluice
