// Files of masks of nodes, one mask each: which they are, and whether their rows are surely those
// of the nodes in their order. What cannot be told is left out, and said.
#include "prep/import/column_peek.h"
#include "prep/layout/files_guess.h"
#include "prep/table/column_names.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace sluice {

/// Looks at the files that are called masks, which may tell how many nodes there are.
void FilesGuess::find_masks() {
  std::vector<std::pair<std::string, TableGlance>> matrices;
  for (const FileRole& role : roles_) {
    if (role.kind != FileRole::Kind::kMask) continue;
    TextGuess text;
    if (lower_name(role.name).find("edge") != std::string::npos) {
      made_.warn(fmt::format(
          "{}: a mask of edges; a split of edges is files of edges, or ratio, in a [[splits]]",
          role.file));
    } else if (!use_text(role.file, text)) {
      made_.warn(say_unread(role.file));
    } else {
      TableGlance seen = glance_at_rows(files_, role.file, text.format, made_.spec.formats);
      const bool matrix =
          std::any_of(seen.columns.begin(), seen.columns.end(), [](const ColumnGlance& column) {
            return column.info.width > 1;
          });
      if (matrix) {
        matrices.emplace_back(role.file, std::move(seen));
      } else {
        find_mask(role, seen, text.format);
      }
    }
  }
  if (!matrices.empty()) say_mask_matrices(matrices);
}

/// One column of truth values, and beside it ids and an index at most.
void FilesGuess::find_mask(const FileRole& role,
                           const TableGlance& seen,
                           const std::string& format) {
  MaskFile mask;
  std::size_t columns = 0;
  bool odd = false;
  for (std::size_t i = 0; i < seen.columns.size(); ++i) {
    const std::string& name = seen.columns[i].info.name;
    const bool lone = seen.columns.size() == 1;
    if (!lone && is_index_name(name, i)) continue;
    if (!lone && is_id_name(name, i)) {
      mask.by_id = true;
      continue;
    }
    odd = odd || !holds_truths(seen.columns[i], seen.rows);
    ++columns;
    if (!lone) mask.column = name;
  }
  if (columns != 1 || odd)
    return made_.warn(fmt::format(
        "{}: it is called a mask, and is not one column of True and False, or of 0 and 1 for more "
        "than two nodes",
        role.file));
  mask.file = role.file;
  mask.part = role.part;
  mask.split = role.split;
  mask.format = format == files_.format_of(role.file) ? "auto" : format;
  mask.rows = seen.whole ? seen.rows : rows_of(role.file);
  const auto& nodes = made_.spec.nodes;
  const auto counts = [&](std::int64_t first_id) {
    return why_uncounted(mask, nodes.front(), first_id).empty();
  };
  if (nodes.size() == 1 && !mask.by_id && mask.rows != 0 && (counts(0) || counts(1)))
    rows_.emplace(nodes.front().type, mask.rows);
  masks_.push_back(std::move(mask));
}

/// Several splits in one array, as PyG's heterophilous data sets have them.
void FilesGuess::say_mask_matrices(const std::vector<std::pair<std::string, TableGlance>>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const auto& [name, seen] : files) names.push_back(name);
  const TableGlance& seen = files.front().second;
  const std::uint32_t width = seen.columns.front().info.width;
  made_.warn(
      fmt::format("{}: [{}, {}] is several splits side by side: save one of them as a mask of one "
                  "dimension, in Python numpy.load('{}')[{}]",
                  fmt::join(names, ", "),
                  seen.rows,
                  width,
                  names.front(),
                  seen.rows < width ? "0" : ":, 0"));
}

bool FilesGuess::is_mask(const std::string& file) const {
  return std::any_of(
      masks_.begin(), masks_.end(), [&](const MaskFile& mask) { return mask.file == file; });
}

/// Why the rows of a mask are not surely those of a type's nodes, in their order; empty: they are.
std::string FilesGuess::why_no_mask(const MaskFile& mask, const NodeSpec& node) const {
  if (made_.spec.graphs.any())
    return "there are many graphs: say in a [[splits]] whether this mask is of \"nodes\" or "
           "\"graphs\"";
  if (mask.by_id) return {};
  const bool listed = !node.id_list.file.empty();
  if (node.ids != IdKind::kDense && !listed)
    return fmt::format(
        "the ids of '{}' are not 0, 1, 2, ..., and nothing tells their order: write them beside "
        "the mask, or list them in id_list of the [[nodes]]",
        node.type);
  const auto known = rows_.find(node.type);
  const std::uint64_t count = node.count != 0        ? static_cast<std::uint64_t>(node.count)
                              : known != rows_.end() ? known->second
                                                     : 0;
  if (count != 0 && mask.rows != 0 && mask.rows != count)
    return fmt::format("it has {} rows, and there are {} nodes of type '{}'",
                       format_count(mask.rows),
                       format_count(count),
                       node.type);
  return listed ? why_unordered(mask, node) : why_uncounted(mask, node, node.first_id);
}

/// Ids that number the nodes, and are listed in another order: a mask may stand in either.
std::string FilesGuess::why_unordered(const MaskFile& mask, const NodeSpec& node) const {
  const IdFileSpec& list = node.id_list;
  const TableGlance seen = glance_at(files_, list.file, list.format, made_.spec.formats);
  const auto ids =
      std::find_if(seen.columns.begin(), seen.columns.end(), [&](const ColumnGlance& column) {
        return column.info.name == list.column;
      });
  if (node.ids != IdKind::kInteger || ids == seen.columns.end()) return {};
  const std::uint64_t rows = mask.rows != 0 ? mask.rows : seen.rows;
  if (!ids->within(0, static_cast<std::int64_t>(rows))) return {};
  bool in_order = ids->ascending;
  if (in_order && !seen.whole) {
    const auto table = files_.open(list.file, list.format, made_.spec.formats);
    in_order = peek_at(*table, list.column, std::numeric_limits<std::uint64_t>::max()).counts_up;
  }
  if (in_order) return {};
  return fmt::format(
      "{0} lists the nodes in another order than that of their numbers, and nothing tells in which "
      "of the two this mask is: write the ids beside it, or name it in a [[splits]] where it is in "
      "the order of {0}",
      list.file);
}

/// Where nothing else says how many nodes there are: why a mask does not.
std::string FilesGuess::why_uncounted(const MaskFile& mask,
                                      const NodeSpec& node,
                                      std::int64_t first_id) const {
  if (is_counted(node) || mask.rows == 0) return {};
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  bool of_edges = false;
  for (const Edges& edges : edges_) {
    const TableGlance& seen = edges.guess.glance;
    of_edges = of_edges || (seen.whole && seen.rows == mask.rows);
    for (const std::size_t at : edges.guess.source_at)
      if (edges.source == node.type) largest = std::max(largest, seen.columns[at].largest);
    for (const std::size_t at : edges.guess.target_at)
      if (edges.target == node.type) largest = std::max(largest, seen.columns[at].largest);
  }
  const std::int64_t last = first_id + static_cast<std::int64_t>(mask.rows) - 1;
  if (largest > last)
    return fmt::format(
        "it has {} rows, and edges name the node {}", format_count(mask.rows), largest);
  if (!of_edges || largest == last) return {};
  return "it has as many rows as there are edges, and nothing tells whether it is of these: name "
         "it in a [[splits]] if it is of nodes";
}

/// Whether something else than masks says how many nodes a type has.
bool FilesGuess::is_counted(const NodeSpec& node) const {
  const bool labels = !node.labels.file.empty() && node.labels.id_column.empty();
  return node.count != 0 || labels || !node.features.file.empty() || !node.times.file.empty();
}

void FilesGuess::count_by_mask(const MaskFile& mask, NodeSpec& node) {
  if (node.ids != IdKind::kDense || mask.by_id || mask.rows == 0 || is_counted(node)) return;
  node.count = static_cast<std::int64_t>(mask.rows);
  made_.comment(where(node) + ".count", fmt::format("As many as {} has rows.", mask.file));
}

}  // namespace sluice
