// Splits by files: of ids, of edges, of masks; and labels beside the ids of a part.
#include "prep/layout/files_guess.h"
#include "prep/table/column_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {

bool FilesGuess::holds_edges(const std::string& file) {
  TextGuess text;
  if (!use_text(file, text)) return false;
  const auto table = files_.open(file, text.format, made_.spec.formats);
  const auto& columns = table->columns();
  if (columns.size() == 1) return columns.front().width == 2;
  if (ends_by_name(columns)) return true;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!is_index_name(columns[i].name, i)) names.push_back(columns[i].name);
  // Ids of nodes behind an index, or before what is known of them.
  if (names.size() < 2) return false;
  return !is_id_name(names.front()) || (is_edge_id_name(names.front()) && names.size() > 2);
}

void FilesGuess::describe_splits() {
  for (const FileRole& role : roles_) {
    if (role.kind == FileRole::Kind::kSplit && role.file != train_) add_to_split(role);
    if (role.kind == FileRole::Kind::kPartialGraph && role.file != train_)
      made_.warn(fmt::format(
          "{}: it is no split, but the edges among the {} nodes alone; {} has the graph",
          role.file,
          role.part,
          made_.spec.edges.empty() ? "another" : made_.spec.edges.front().file));
  }
  add_mask_files();
  for (const FileRole& role : roles_)
    if (role.kind == FileRole::Kind::kSplitLabels) add_split_labels(role);
  drop_trainless();
  say_masks();
  add_mask_columns();
  offer_split();
}

/// Training on nodes needs a split. Where no file says one, it can be drawn.
void FilesGuess::offer_split() {
  const GraphSpec& spec = made_.spec;
  if (!spec.splits.empty() || spec.graphs.any() || spec.edges.empty()) return;
  const auto& offers = made_.comments.offers;
  for (const NodeSpec& node : spec.nodes) {
    const bool labelled = !node.labels.file.empty(), offered = offers.count(where(node)) != 0;
    if (!labelled && !offered) continue;
    const std::string table = fmt::format("edges[{}]", spec.edges.size() - 1);
    made_.offer(table, "A split, drawn from the nodes with labels; training on nodes needs one:");
    made_.offer(table, "[[splits]]");
    if (spec.nodes.size() > 1) made_.offer(table, fmt::format("node_type = \"{}\"", node.type));
    return made_.offer(table, "ratio = [0.6, 0.2, 0.2]");
  }
}

void FilesGuess::drop_trainless() {
  auto& splits = made_.spec.splits;
  for (const SplitSpec& split : splits) {
    if (!split.train.empty() || split.of == SplitOf::kEdges) continue;
    made_.warn(fmt::format("the split {}: it has no train file", split.name));
  }
  std::erase_if(splits, [](const SplitSpec& split) {
    return split.train.empty() && split.of != SplitOf::kEdges;
  });
}

void FilesGuess::add_to_split(const FileRole& role) {
  if (guess_text(files_, role.file).format.empty()) return made_.warn(say_unread(role.file));
  const bool of_edges = role.file.ends_with(".npy") ? holds_edges(role.file)
                                                    : !train_.empty() || holds_edges(role.file);
  SplitSpec split;
  split.name = role.split.empty() ? "default" : plain_name(role.split);
  split.of = of_edges                  ? SplitOf::kEdges
             : made_.spec.graphs.any() ? SplitOf::kGraphs
                                       : SplitOf::kNodes;
  if (of_edges && made_.spec.edges.size() > 1)
    return made_.warn(fmt::format("{}: of which edges is this split?", role.file));
  auto& splits = made_.spec.splits;
  auto found = std::find_if(splits.begin(), splits.end(), [&](const SplitSpec& other) {
    return other.name == split.name;
  });
  if (found == splits.end()) found = splits.insert(splits.end(), split);
  if (found->of != split.of)
    return made_.warn(fmt::format("{}: it is unlike the other parts of its split", role.file));
  file_of_part(*found, role.part) = role.file;
  if (!of_edges)
    return say_beside_ids(role.file,
                          fmt::format("splits[{}].{}", found - splits.begin(), role.part));
  const EdgeSpec& edge = made_.spec.edges.front();
  found->format = edge.format;
  if (!train_.empty())
    made_.comments.at[fmt::format("splits[{}].of", found - splits.begin())] =
        fmt::format("The train part is the graph itself, {}.", train_);
  const auto table = files_.open(role.file, edge.format, made_.spec.formats);
  for (const ColumnInfo& column : table->columns())
    if (column.name == "label") found->label_column = column.name;
}

/// What stands beside the ids of a part, and is left out.
void FilesGuess::say_beside_ids(const std::string& file, const std::string& path) {
  TextGuess text;
  if (!use_text(file, text)) return;
  const auto table = files_.open(file, text.format, made_.spec.formats);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table->columns().size(); ++i)
    if (const std::string& name = table->columns()[i].name; !is_index_name(name, i))
      names.push_back(name);
  if (names.size() < 2) return;
  made_.comment(path,
                fmt::format("Its column {} holds ids of nodes. Columns that are left out: {}.",
                            names[0],
                            fmt::join(names.begin() + 1, names.end(), ", ")));
}

/// Labels beside the ids of a part, where labels of all nodes are nowhere.
void FilesGuess::add_split_labels(const FileRole& role) {
  const std::string name = role.split.empty() ? "default" : plain_name(role.split);
  auto& splits = made_.spec.splits;
  const auto split = std::find_if(splits.begin(), splits.end(), [&](const SplitSpec& other) {
    return other.name == name && other.of == SplitOf::kNodes;
  });
  if (split == splits.end())
    return made_.warn(
        fmt::format("{}: labels of a part of a split, whose ids are in no file", role.file));
  const auto& nodes = made_.spec.nodes;
  const bool labelled = std::any_of(
      nodes.begin(), nodes.end(), [](const NodeSpec& node) { return !node.labels.file.empty(); });
  const std::string& ids = file_of_part(*split, role.part);
  if (labelled || nodes.size() != 1 || ids.empty() || is_mask(ids))
    return made_.warn(
        fmt::format("{}: {}",
                    role.file,
                    labelled       ? "all nodes have labels in another file"
                    : ids.empty()  ? "there is no file of the ids of this part"
                    : is_mask(ids) ? "labels of a part stand beside ids, and " + ids + " is a mask"
                                   : "of which type's nodes are these labels?"));
  (role.part == "train"   ? split->train_labels
   : role.part == "valid" ? split->valid_labels
                          : split->test_labels) = role.file;
}

}  // namespace sluice
