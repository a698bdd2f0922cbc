// What stands beside nodes, and how files name them.
#include "prep/layout/files_guess.h"
#include "prep/layout/scaling_guess.h"
#include "prep/table/column_names.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {
namespace {

using Kind = FileRole::Kind;

/// What the ids of a type are like, in all tables of edges.
struct IdGlance {
  std::unordered_set<std::int64_t> different;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  bool texts = false;
  bool beyond = false;  // some of the texts are numbers
  bool words = false;   // all of them may look like numbers, and are stored as texts
  bool padded = false;
  bool whole = true;
  bool seen = false;

  void take(const ColumnGlance& column) {
    if (column.different.empty() && column.texts.empty() && column.numbers) return;
    seen = true;
    texts = texts || !column.integers;
    beyond = beyond || column.beyond;
    words = words || column.info.words;
    padded = padded || column.padded;
    least = std::min(least, column.least);
    largest = std::max(largest, column.largest);
    different.insert(column.different.begin(), column.different.end());
  }
  /// How much of 0 to the largest is there.
  double share() const {
    return static_cast<double>(different.size()) / (static_cast<double>(largest) + 1);
  }
};

struct IdChoice {
  IdKind kind = IdKind::kDense;
  std::int64_t first_id = 0;
  std::string why;
};

/// @param rows of what stands beside the nodes, where that is known
IdChoice choose_ids(const IdGlance& ids, std::optional<std::uint64_t> rows) {
  const std::string seen = ids.whole ? "all edges" : "the first edges";
  const std::string different = format_count(ids.different.size());
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(ids.largest, 0));
  if (ids.beyond)
    return {
        IdKind::kString,
        0,
        fmt::format("In {} some ids are numbers beyond 63 bits, kept as they are written.", seen)};
  if (ids.words) return {IdKind::kString, 0, "The file stores them as texts."};
  if (ids.texts) return {IdKind::kString, 0, fmt::format("In {} some ids are no numbers.", seen)};
  if (ids.padded)
    return {
        IdKind::kString, 0, fmt::format("In {} some ids begin with a zero, as names do.", seen)};
  if (rows && ids.least >= 0 && count < *rows)
    return {IdKind::kDense,
            0,
            fmt::format("In {} they are {} to {}, below the {} rows that stand beside the nodes.",
                        seen,
                        ids.least,
                        ids.largest,
                        format_count(*rows))};
  if (rows && ids.least == 1 && count == *rows)
    return {IdKind::kDense,
            1,
            fmt::format("In {} ids are 1 to {}, the number of rows.", seen, ids.largest)};
  if (ids.least == 1 && ids.whole && ids.different.size() == count)
    return {IdKind::kDense, 1, fmt::format("The edges name each of 1 to {}.", different)};
  if (ids.least == 0 && ids.share() > (ids.whole ? 0.5 : 0.1))
    return {IdKind::kDense,
            0,
            fmt::format("{} edges name {} of the ids 0 to {}; those that none names are nodes "
                        "without edges.",
                        ids.whole ? "The" : "The first",
                        different,
                        ids.largest)};
  return {IdKind::kInteger,
          0,
          fmt::format("In {} they are {} different ones of {} to {}, so they are kept as names; "
                      "\"dense\" if they number the nodes from 0.",
                      seen,
                      different,
                      ids.least,
                      ids.largest)};
}

}  // namespace

void FilesGuess::describe_nodes() {
  for (const Edges& edges : edges_) {
    for (const std::string& type : {edges.source, edges.target}) {
      auto& nodes = made_.spec.nodes;
      const bool known = std::any_of(
          nodes.begin(), nodes.end(), [&](const NodeSpec& node) { return node.type == type; });
      if (!known) nodes.emplace_back().type = type;
    }
  }
  for (NodeSpec& node : made_.spec.nodes) describe_node_ids(node);
  for (const Kind kind : {Kind::kFeatures, Kind::kLabels, Kind::kTimes})
    for (const FileRole& role : roles_)
      if (role.kind == kind) place_rows(role);
  find_masks();
  for (NodeSpec& node : made_.spec.nodes) {
    if (!node_tables_.contains(node.type)) describe_ids(node, where(node));
    settle_rows(node);
    describe_node_columns(node);
  }
}

std::uint64_t FilesGuess::rows_of(const std::string& file) {
  TextGuess text;
  const std::string format = use_text(file, text) ? text.format : "auto";
  const auto table = files_.open(file, format, made_.spec.formats);
  (void)table->turn_sparse({}, SparseEntries::kRefuse);
  if (const auto rows = table->num_rows()) return *rows;
  const TableGlance glance = glance_at_rows(files_, file, format, made_.spec.formats);
  return glance.whole ? glance.rows : 0;
}

/// The type that a file's name says, or the only one, or the only one of so many rows.
NodeSpec* FilesGuess::node_of(const FileRole& role, std::uint64_t rows) {
  auto& nodes = made_.spec.nodes;
  if (nodes.size() == 1) return &nodes.front();
  const auto by = [&](const auto& is_it) -> NodeSpec* {
    const auto found = std::find_if(nodes.begin(), nodes.end(), is_it);
    if (found == nodes.end()) return nullptr;
    return std::find_if(found + 1, nodes.end(), is_it) == nodes.end() ? &*found : nullptr;
  };
  if (!role.of.empty())
    return by([&](const NodeSpec& node) { return node.type == plain_name(role.of); });
  NodeSpec* node = by([&](const NodeSpec& candidate) {
    const auto known = rows_.find(candidate.type);
    return known != rows_.end() && known->second == rows;
  });
  if (node != nullptr)
    made_.comment(where(*node) + ".labels.file",
                  fmt::format("The type with as many rows of features, {}.", format_count(rows)));
  return node;
}

void FilesGuess::place_rows(const FileRole& role) {
  TextGuess text;
  if (!use_text(role.file, text)) return made_.warn(say_unread(role.file));
  if (text.format == "mtx" || files_.format_of(role.file) == "mtx")
    return made_.warn(fmt::format(
        "{}: it is a MatrixMarket file, which is read as edges alone: save it as .npy", role.file));
  if (role.of == "edge" || role.of == "edges")
    return made_.warn(
        fmt::format("{}: name it in features.file (or labels.file) of an [[edges]], "
                    "if it is one row an edge",
                    role.file));
  const std::uint64_t rows = rows_of(role.file);
  NodeSpec* node = node_of(role, rows);
  if (node == nullptr)
    return made_.warn(fmt::format("{}: of which type's nodes is it?", role.file));
  std::string& place = role.kind == Kind::kFeatures ? node->features.file
                       : role.kind == Kind::kLabels ? node->labels.file
                                                    : node->times.file;
  if (!place.empty())
    return made_.warn(fmt::format("{}: '{}' has {} already", role.file, node->type, place));
  const TableGlance seen = glance_at_rows(files_, role.file, text.format, made_.spec.formats);
  const auto ids = find_row_ids(*node, role.file, seen);
  const auto table = node_tables_.find(node->type);
  if (!ids && table != node_tables_.end() && rows != 0 && rows != rows_[node->type])
    return made_.warn(fmt::format("{}: it has {} rows, and '{}' has {} by {}",
                                  role.file,
                                  format_count(rows),
                                  node->type,
                                  format_count(rows_[node->type]),
                                  tables_[table->second.table].role.file));
  place = role.file;
  (role.kind == Kind::kFeatures ? node->features.format
   : role.kind == Kind::kLabels ? node->labels.format
                                : node->times.format) = text.format;
  // Labels under ids may be of some nodes alone.
  if (rows != 0 && !(ids && role.kind == Kind::kLabels)) rows_.emplace(node->type, rows);
  const bool index = seen.columns.size() > 1 && is_index_name(seen.columns[0].info.name, 0);
  if (ids || index) return place_by_id(*node, role, seen, ids.value_or(seen.columns.size()));
  if (role.kind == Kind::kLabels)
    made_.comment(where(*node) + ".labels.kind", guess_labels(seen, node->labels));
  if (role.kind == Kind::kFeatures)
    guess_scaling(
        leave_texts_out(*node, role.file, seen), node->features, where(*node) + ".features", made_);
}

/// Columns of texts are no features: the others are named then. Returns these.
TableGlance FilesGuess::leave_texts_out(NodeSpec& node,
                                        const std::string& file,
                                        const TableGlance& seen) {
  TableGlance rest = seen;
  std::erase_if(rest.columns, [](const ColumnGlance& column) {
    return column.info.width == 1 && !column.info.dtype && !column.numbers;
  });
  if (rest.columns.empty() || rest.columns.size() == seen.columns.size()) return seen;
  std::vector<std::string> texts;
  for (const ColumnGlance& column : seen.columns)
    if (!column.info.dtype && !column.numbers) texts.push_back(column.info.name);
  for (const ColumnGlance& column : rest.columns) node.features.columns.push_back(column.info.name);
  made_.warn(
      fmt::format("{}: the columns {} are texts, and no features", file, fmt::join(texts, ", ")));
  return rest;
}

/// The column of ids beside rows: by its name, or as it holds ids of edges that tell.
std::optional<std::size_t> FilesGuess::find_row_ids(const NodeSpec& node,
                                                    const std::string& file,
                                                    const TableGlance& seen) {
  if (seen.columns.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < seen.columns.size(); ++i)
    if (seen.columns[i].info.width == 1 && is_id_name(seen.columns[i].info.name, i)) return i;
  const std::size_t at = is_index_name(seen.columns[0].info.name, 0) ? 1 : 0;
  const ColumnGlance& first = seen.columns[at];
  if (first.info.width != 1 || first.kinds() != seen.rows || first.missing) return std::nullopt;
  const bool scattered =
      first.integers && first.high - first.low + 1 > 4.0 * static_cast<double>(seen.rows);
  if (first.numbers && !scattered) return std::nullopt;
  for (const Edges& edges : edges_) {
    if (!edges.guess.table.empty()) continue;
    for (const bool target : {false, true}) {
      if ((target ? edges.target : edges.source) != node.type) continue;
      const IdSample sample = sample_end(edges.guess, target);
      const TableColumn column{file, "auto", first.info.name};
      if (shares_of(files_, made_.spec.formats, column, {&sample}).front().nearly_all()) return at;
    }
  }
  return std::nullopt;
}

/// Rows beside ids, or beside an index: the other columns are what is meant.
/// @param id behind the columns: there is an index alone
void FilesGuess::place_by_id(NodeSpec& node,
                             const FileRole& role,
                             const TableGlance& seen,
                             std::size_t id) {
  TableGlance rest;
  rest.whole = seen.whole;
  rest.rows = seen.rows;
  std::vector<std::string> names, texts, masks;
  for (std::size_t i = 0; i < seen.columns.size(); ++i) {
    if (i == id || is_index_name(seen.columns[i].info.name, i)) continue;
    if (role.kind == Kind::kFeatures && says_mask(seen.columns[i].info.name)) {
      masks.push_back(seen.columns[i].info.name);
      continue;
    }
    const bool number = seen.columns[i].info.dtype || seen.columns[i].numbers;
    if (role.kind == Kind::kFeatures && !number) {
      texts.push_back(seen.columns[i].info.name);
      continue;
    }
    rest.columns.push_back(seen.columns[i]);
    names.push_back(seen.columns[i].info.name);
  }
  const std::string name = id < seen.columns.size() ? seen.columns[id].info.name : "";
  if (!texts.empty())
    made_.warn(fmt::format(
        "{}: the columns {} are texts, and no features", role.file, fmt::join(texts, ", ")));
  if (!masks.empty())
    made_.warn(
        fmt::format("{}: the columns {} are masks, and no features: name them in columns of a "
                    "[[splits]]",
                    role.file,
                    fmt::join(masks, ", ")));
  if (names.empty()) return made_.warn(fmt::format("{}: it has no columns but ids", role.file));
  const std::string path = where(node);
  if (role.kind == Kind::kFeatures) {
    node.features.columns = names;
    node.features.id_column = name;
    guess_scaling(rest, node.features, path + ".features", made_);
  } else if (role.kind == Kind::kTimes) {
    node.times.column = names.front();
    node.times.id_column = name;
  } else {
    made_.comment(path + ".labels.kind", guess_labels(rest, node.labels));
    if (node.labels.columns.empty()) node.labels.columns = {names.front()};
    node.labels.id_column = name;
  }
  if (name.empty()) return;
  const std::string format = role.kind == Kind::kFeatures ? node.features.format
                             : role.kind == Kind::kLabels ? node.labels.format
                                                          : node.times.format;
  rows_by_id_[node.type].push_back(
      {role.kind, role.file, format, name, seen.columns[id], seen.whole});
}

void FilesGuess::describe_ids(NodeSpec& node, const std::string& path) {
  IdGlance ids;
  for (const Edges& edges : edges_) {
    const auto& columns = edges.guess.glance.columns;
    for (const std::size_t at : edges.guess.source_at)
      if (edges.source == node.type) ids.take(columns[at]);
    for (const std::size_t at : edges.guess.target_at)
      if (edges.target == node.type) ids.take(columns[at]);
    ids.whole = ids.whole && edges.guess.glance.whole && train_.empty();
  }
  if (!ids.seen) return;
  const auto rows = rows_.find(node.type);
  const bool has_rows = rows != rows_.end();
  const auto by_id = rows_by_id_.find(node.type);
  IdChoice choice = choose_ids(ids, has_rows ? std::optional(rows->second) : std::nullopt);
  if (choice.kind == IdKind::kDense && by_id != rows_by_id_.end()) {
    for (const RowsWithIds& of : by_id->second) {
      const auto count = static_cast<std::int64_t>(has_rows ? rows->second : 0);
      const bool labels = of.kind == Kind::kLabels && of.ids.integers;
      if (labels || of.ids.within(choice.first_id, choice.first_id + count - 1)) continue;
      choice = {IdKind::kInteger,
                0,
                fmt::format("Ids of {} are not {}, {}, {}, ...",
                            of.file,
                            choice.first_id,
                            choice.first_id + 1,
                            choice.first_id + 2)};
      if (!of.ids.integers || of.ids.padded) choice.kind = IdKind::kString;
      break;
    }
  }
  node.ids = choice.kind;
  node.first_id = choice.first_id;
  made_.comment(path + (choice.first_id == 0 ? ".ids" : ".first_id"), choice.why);
}

/// The order of rows: by their ids, by a list of ids, or by their numbers.
void FilesGuess::settle_rows(NodeSpec& node) {
  if (node.ids != IdKind::kDense && node.id_list.file.empty()) list_ids(node);
  const auto by_id = rows_by_id_.find(node.type);
  if (by_id != rows_by_id_.end()) {
    for (const RowsWithIds& of : by_id->second) {
      const bool listed = node.id_list.file == of.file && node.id_list.column == of.column;
      const bool counted =
          node.ids == IdKind::kDense && of.whole && of.ids.integers && of.ids.ascending &&
          of.ids.least == node.first_id && of.ids.different.size() == rows_[node.type] &&
          of.ids.largest - of.ids.least + 1 == static_cast<std::int64_t>(rows_[node.type]);
      if (!listed && !counted) continue;
      if (of.kind == Kind::kFeatures) node.features.id_column.clear();
      if (of.kind == Kind::kLabels && node.labels.file == of.file) node.labels.id_column.clear();
      if (of.kind == Kind::kTimes) node.times.id_column.clear();
    }
  }
  if (node.ids == IdKind::kDense) return;
  // Rows without ids: in the order of the list, where there are as many.
  const auto table = node_tables_.find(node.type);
  const bool listed = !node.id_list.file.empty();
  bool any = false;
  const auto settle = [&](auto& rows, const char* key) {
    if (rows.file.empty() || !rows.id_column.empty() || rows.file == node.id_list.file) return;
    const std::uint64_t count = rows_of(rows.file);
    if (listed && table != node_tables_.end() && count != 0 && count == rows_[node.type])
      return made_.comment(fmt::format("{}.{}.file", where(node), key),
                           fmt::format("As many rows as {}, and in its order.", node.id_list.file));
    any = true;
    rows = {};
  };
  settle(node.features, "features");
  settle(node.labels, "labels");
  settle(node.times, "times");
  if (!any) return;
  made_.warn(
      fmt::format("features, labels and times of '{}': the ids of its nodes are not 0, 1, "
                  "2, ..., and nothing tells their order: id_list of its [[nodes]] would",
                  node.type));
}

/// The first of the files of rows with ids lists the nodes, where no table does.
void FilesGuess::list_ids(NodeSpec& node) {
  const auto by_id = rows_by_id_.find(node.type);
  // Labels may be of some nodes alone, and list none.
  if (by_id == rows_by_id_.end() || by_id->second.front().kind == Kind::kLabels) return;
  const RowsWithIds& of = by_id->second.front();
  node.id_list.file = of.file;
  node.id_list.column = of.column;
  node.id_list.format = of.format;
  const TableColumn column{of.file, of.format, of.column};
  bool all = true;
  for (const Edges& edges : edges_) {
    if (!edges.guess.table.empty()) continue;
    for (const bool target : {false, true}) {
      if ((target ? edges.target : edges.source) != node.type) continue;
      const IdSample sample = sample_end(edges.guess, target);
      all = all && sample.whole &&
            shares_of(files_, made_.spec.formats, column, {&sample}).front().all();
    }
  }
  made_.comment(where(node) + ".id_list.file",
                fmt::format("Its column {} names the nodes of its rows.", of.column));
  if (all) return;
  node.unknown_ids = UnknownIds::kSkip;
  made_.comment(where(node) + ".unknown_ids",
                "Some ids of edges may not be there: such edges are left out, and counted.");
}

}  // namespace sluice
