// What stands beside nodes, and how files name them.
#include "prep/layout/files_guess.h"
#include "prep/layout/scaling_guess.h"

#include <sluice/units.h>

#include <fmt/format.h>

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
            fmt::format("In {} they are {} to {}, below the {} rows of features or labels.",
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
  for (const Kind kind : {Kind::kFeatures, Kind::kLabels, Kind::kTimes})
    for (const FileRole& role : roles_)
      if (role.kind == kind) place_rows(role);
  for (NodeSpec& node : made_.spec.nodes) describe_ids(node, where(node));
}

std::uint64_t FilesGuess::rows_of(const std::string& file) {
  const auto table = files_.open(file, "auto", made_.spec.formats);
  (void)table->turn_sparse({}, SparseEntries::kRefuse);
  if (const auto rows = table->num_rows()) return *rows;
  const TableGlance glance = glance_at(files_, file, "auto", made_.spec.formats);
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
  if (!use_text(role.file, text)) return made_.warn(why_unread(role.file));
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
  place = role.file;
  if (rows != 0) rows_.emplace(node->type, rows);
  if (role.kind == Kind::kTimes) return;
  const TableGlance glance = glance_at_rows(files_, role.file, "auto", made_.spec.formats);
  if (role.kind == Kind::kLabels)
    made_.comment(where(*node) + ".labels.kind", guess_labels(glance, node->labels));
  if (role.kind == Kind::kFeatures)
    guess_scaling(glance, node->features, where(*node) + ".features", made_);
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
  const IdChoice choice = choose_ids(ids, has_rows ? std::optional(rows->second) : std::nullopt);
  node.ids = choice.kind;
  node.first_id = choice.first_id;
  made_.comment(path + (choice.first_id == 0 ? ".ids" : ".first_id"), choice.why);
  if (node.ids == IdKind::kDense || !has_rows) return;
  made_.warn(
      fmt::format("features, labels and times of '{}': the ids of its nodes are not 0, 1, "
                  "2, ..., and nothing tells their order: id_list of its [[nodes]] would",
                  node.type));
  node.features = {};
  node.labels = {};
  node.times = {};
}

}  // namespace sluice
