#include "prep/import/settle_places.h"

#include "prep/import/places_look.h"
#include "prep/table/column_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace sluice {
namespace {

constexpr std::uint64_t kAllRows = std::numeric_limits<std::uint64_t>::max();

class Places {
 public:
  Places(GraphSpec& spec, const PlacesLook& look) : spec_(spec), look_(look) {}

  void settle() {
    std::set<std::string> said;
    for (const SpecFile& named : files_of(spec_))
      if (said.insert(named.file).second) look_.say_parts(named.file);
    for (NodeSpec& node : spec_.nodes) {
      settle_ids(node.id_list);
      settle_features(node);
      settle_labels(node);
      settle_times(node);
    }
    for (EdgeSpec& edge : spec_.edges) {
      settle_edge(edge, look_);
      settle_rows(edge.labels, "labels");
    }
    for (SplitSpec& split : spec_.splits) settle_split(split);
    settle_numbers(spec_.graphs.membership);
    settle_numbers(spec_.graphs.sizes);
    settle_numbers(spec_.graphs.edge_sizes);
    settle_rows(spec_.graphs.labels, "labels");
  }

 private:
  void settle_ids(IdFileSpec& list) const {
    const auto table = list.column.empty() ? look_.open(list.file, list.format) : nullptr;
    if (table) settle_first(*table, list.file, list.column);
  }

  /// The first column that is no index; ids are what is wanted.
  void settle_first(const TableReader& table, const std::string& file, std::string& column) const {
    const auto& columns = table.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (is_index_name(columns[i].name, i) && columns.size() > 1) continue;
      if (i == 0) return;
      column = columns[i].name;
      return look_.say("{}: the first column, '{}', is an index; ids are the column '{}'",
                       file,
                       columns[0].name,
                       column);
    }
  }

  /// The name of the ids beside rows of a type's nodes, where the id list says it.
  static std::string list_column(const NodeSpec& node, const std::vector<ColumnInfo>& columns) {
    const std::string& name = node.id_list.column;
    const bool there = std::any_of(columns.begin(), columns.end(), [&](const ColumnInfo& column) {
      return column.name == name;
    });
    return there ? name : "";
  }

  /// Whether rows that stand beside ids are in the order of the nodes anyway.
  bool in_order(const NodeSpec& node,
                const std::string& file,
                const std::string& format,
                const std::string& id) const {
    if (!node.id_list.file.empty() && node.id_list.file == file &&
        (node.id_list.column == id || node.id_list.column.empty()))
      return true;
    if (node.ids != IdKind::kDense) return false;
    const ColumnPeek ids = look_.peek(file, format, id, kAllRows);
    return ids.counts_up && ids.rows != 0 && ids.first == node.first_id;
  }

  /// Rows go by the ids beside them, unless somebody named columns and left the ids out.
  void settle_order(const NodeSpec& node,
                    const std::string& file,
                    const std::string& format,
                    const std::string& id,
                    const std::string& what,
                    bool named,
                    std::string& id_column) const {
    if (in_order(node, file, format, id)) return;
    if (named)
      return look_.say(
          "{0}: rows are taken in their order, though ids stand beside them, in the column "
          "'{1}'; {2}.id_column = \"{1}\" goes by them",
          file,
          id,
          what);
    id_column = id;
    look_.say(
        "{0}: the column '{1}' holds ids: rows of {2} go by it ({2}.id_column)", file, id, what);
  }

  void settle_features(NodeSpec& node) const {
    FeatureSpec& features = node.features;
    const auto table = look_.open(features.file, features.format);
    if (!table || table->columns().size() < 2) return;
    const std::string known =
        !features.id_column.empty() ? features.id_column : list_column(node, table->columns());
    const SortedColumns sorted = sort_columns(table->columns(), known);
    const bool named = !features.columns.empty();
    if (!named && !sorted.rest.empty() && (!sorted.index.empty() || !sorted.id.empty())) {
      features.columns = sorted.rest;
      std::vector<std::string> out = sorted.index;
      if (!sorted.id.empty()) out.push_back(sorted.id);
      look_.say("{}: features are all columns but {}, which number the rows",
                features.file,
                quoted_names(out));
    }
    if (sorted.id.empty() || !features.id_column.empty()) return;
    if (std::find(features.columns.begin(), features.columns.end(), sorted.id) !=
        features.columns.end())
      return;  // a feature that is called so: somebody says it
    settle_order(
        node, features.file, features.format, sorted.id, "features", named, features.id_column);
  }

  void settle_labels(NodeSpec& node) const {
    LabelSpec& labels = node.labels;
    const auto table = look_.open(labels.file, labels.format);
    if (!table || table->columns().size() < 2) return;
    const std::string known =
        !labels.id_column.empty() ? labels.id_column : list_column(node, table->columns());
    const SortedColumns sorted = sort_columns(table->columns(), known);
    const bool named = !labels.columns.empty();
    if (!named && !sorted.rest.empty()) name_label(labels, sorted, table->columns());
    if (sorted.id.empty() || !labels.id_column.empty()) return;
    if (std::find(labels.columns.begin(), labels.columns.end(), sorted.id) != labels.columns.end())
      return;
    settle_order(node, labels.file, labels.format, sorted.id, "labels", named, labels.id_column);
  }

  void name_label(LabelSpec& labels,
                  const SortedColumns& sorted,
                  const std::vector<ColumnInfo>& columns) const {
    const bool plain = columns[0].name == sorted.rest[0] ||
                       (columns[0].name == labels.id_column && columns[1].name == sorted.rest[0]);
    if (plain) return;
    labels.columns = {sorted.rest[0]};
    look_.say("{}: labels are the column '{}', the first that numbers no rows",
              labels.file,
              sorted.rest[0]);
  }

  void settle_times(NodeSpec& node) const {
    TimeSpec& times = node.times;
    const auto table = look_.open(times.file, times.format);
    if (!table || table->columns().size() < 2) return;
    const std::string known =
        !times.id_column.empty() ? times.id_column : list_column(node, table->columns());
    const SortedColumns sorted = sort_columns(table->columns(), known);
    const bool named = !times.column.empty();
    if (!named && !sorted.rest.empty() && table->columns()[0].name != sorted.rest[0]) {
      times.column = sorted.rest[0];
      look_.say("{}: times are the column '{}', the first that numbers no rows",
                times.file,
                times.column);
    }
    if (sorted.id.empty() || !times.id_column.empty() || times.column == sorted.id) return;
    settle_order(node, times.file, times.format, sorted.id, "times", named, times.id_column);
  }

  /// Labels of edges or graphs: one row each in their order, whatever ids stand beside them.
  void settle_rows(LabelSpec& labels, const std::string& what) const {
    const auto table = labels.columns.empty() ? look_.open(labels.file, labels.format) : nullptr;
    if (!table || table->columns().size() < 2) return;
    const SortedColumns sorted = sort_columns(table->columns(), {});
    if (sorted.rest.empty() || table->columns()[0].name == sorted.rest[0]) return;
    labels.columns = {sorted.rest[0]};
    say_beside(labels.file, labels.format, sorted, what);
  }

  void say_beside(const std::string& file,
                  const std::string& format,
                  const SortedColumns& sorted,
                  const std::string& what) const {
    std::vector<std::string> out = sorted.index;
    if (!sorted.id.empty()) out.push_back(sorted.id);
    look_.say("{}: {} are of the other columns than {}, which number the rows",
              file,
              what,
              quoted_names(out));
    for (const std::string& name : out) {
      if (look_.peek(file, format, name, kAllRows).counts_up) continue;
      look_.say(
          "{}: the column '{}' does not count up; rows are taken in their order all the same, so "
          "they have to stand in that of what they are of",
          file,
          name);
    }
  }

  /// A number a row: the graph of a node, the size of a graph.
  void settle_numbers(ColumnSpec& numbers) const {
    const auto table = numbers.column.empty() ? look_.open(numbers.file, numbers.format) : nullptr;
    if (!table || table->columns().size() < 2) return;
    SortedColumns sorted;
    for (std::size_t i = 0; i < table->columns().size(); ++i) {
      const std::string& name = table->columns()[i].name;
      if (is_index_name(name, i)) {
        sorted.index.push_back(name);
      } else if (is_id_name(name) && sorted.id.empty()) {
        sorted.id = name;
      } else {
        sorted.rest.push_back(name);
      }
    }
    if (sorted.rest.empty() || table->columns()[0].name == sorted.rest[0]) return;
    numbers.column = sorted.rest[0];
    say_beside(numbers.file, numbers.format, sorted, fmt::format("numbers ('{}')", numbers.column));
  }

  void settle_split(SplitSpec& split) const {
    if (split.of == SplitOf::kEdges) return settle_edge_split(split, look_);
    const std::vector<SplitPart> parts = split.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string& column = split.columns.empty() ? split.column : split.columns[i];
      const auto table = column.empty() ? look_.open(parts[i].file, split.format) : nullptr;
      if (!table) continue;
      settle_first(*table, parts[i].file, column);
      say_masks_beside(*table, parts[i], column);
    }
  }

  /// Where nobody named a column: that the first is taken, and masks stand behind it.
  void say_masks_beside(const TableReader& table,
                        const SplitPart& part,
                        const std::string& column) const {
    const std::string taken = column.empty() ? table.columns().front().name : column;
    for (const ColumnInfo& other : table.columns()) {
      if (other.name == taken || !lower_name(other.name).ends_with("mask")) continue;
      return look_.say(
          "{0}: {1} is taken from its column '{2}'; where a mask is meant, name it: column = "
          "\"{3}\", or columns = [...] of the parts",
          part.file,
          part.name,
          taken,
          other.name);
    }
  }

  GraphSpec& spec_;
  const PlacesLook& look_;
};

}  // namespace

void settle_places(GraphSpec& spec,
                   const TableFormats& formats,
                   const std::filesystem::path& root,
                   PrepContext& context) {
  Places(spec, PlacesLook(spec.formats, formats, root, context)).settle();
}

}  // namespace sluice
