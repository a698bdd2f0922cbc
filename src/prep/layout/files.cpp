#include "prep/layout/files.h"

#include "prep/layout/files_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice {

Description FilesGuess::run() {
  find_roles();
  find_edges();
  describe_nodes();
  describe_edges();
  describe_splits();
  made_.comments.head.push_back(
      "It is a guess: by names, extensions and first rows. Comments say what it stands on.");
  return std::move(made_);
}

/// Sets how a text is read; false where another file of its format is read otherwise.
bool FilesGuess::use_text(const std::string& file, TextGuess& text) {
  text = guess_text(files_, file);
  if (text.format.empty()) return false;
  constexpr std::string_view kNoHeader = "header = \"no\"\n";
  if (text.unsure && header_in_ && text.options.starts_with(kNoHeader)) {
    text.options.erase(0, kNoHeader.size());
    text.why =
        fmt::format("the first line is taken for names of columns, as it is in {}", *header_in_);
  }
  const std::string format = text.format == "auto" ? files_.format_of(file) : text.format;
  const auto [at, is_new] = options_.emplace(format, text.options);
  if (is_new && !text.options.empty()) {
    made_.set_format(format, text.options);
    made_.comment(format,
                  fmt::format("{}: {}.", file, text.why.empty() ? "its first line" : text.why));
  }
  if (at->second == text.options) return true;
  made_.warn(fmt::format(
      "{}: it is written unlike other files of the format {}, which has one table of options",
      file,
      format));
  return false;
}

/// What to say of a file for which use_text found no format.
std::string FilesGuess::say_unread(const std::string& file) const {
  if (files_.format_of(file) != "raw") return fmt::format("{}: it is no table that is read", file);
  return fmt::format(
      "{}: nothing says what this raw file holds: name it in a graph.toml, with [raw] dtype and "
      "width",
      file);
}

std::string FilesGuess::where(const NodeSpec& node) const {
  return fmt::format("nodes[{}]", &node - made_.spec.nodes.data());
}

bool FilesGuess::holds_edges(const std::string& file) {
  TextGuess text;
  if (!use_text(file, text)) return false;
  const auto table = files_.open(file, text.format, made_.spec.formats);
  const auto& columns = table->columns();
  return columns.size() > 1 || columns.front().width == 2;
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
    if (role.kind == FileRole::Kind::kMask)
      made_.warn(
          fmt::format("{}: masks are not read, a split is files of ids; in Python, "
                      "numpy.save('{}_idx.npy', numpy.flatnonzero(numpy.load('{}')))",
                      role.file,
                      role.part,
                      role.file));
  }
  for (const FileRole& role : roles_)
    if (role.kind == FileRole::Kind::kSplitLabels) add_split_labels(role);
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
  (role.part == "train"   ? found->train
   : role.part == "valid" ? found->valid
                          : found->test) = role.file;
  if (!of_edges) return;
  const EdgeSpec& edge = made_.spec.edges.front();
  found->format = edge.format;
  if (!train_.empty())
    made_.comments.at[fmt::format("splits[{}].of", found - splits.begin())] =
        fmt::format("The train part is the graph itself, {}.", train_);
  const auto table = files_.open(role.file, edge.format, made_.spec.formats);
  for (const ColumnInfo& column : table->columns())
    if (column.name == "label") found->label_column = column.name;
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
  const std::string& ids = role.part == "train"   ? split->train
                           : role.part == "valid" ? split->valid
                                                  : split->test;
  if (labelled || nodes.size() != 1 || ids.empty())
    return made_.warn(fmt::format("{}: {}",
                                  role.file,
                                  labelled      ? "all nodes have labels in another file"
                                  : ids.empty() ? "there is no file of the ids of this part"
                                                : "of which type's nodes are these labels?"));
  (role.part == "train"   ? split->train_labels
   : role.part == "valid" ? split->valid_labels
                          : split->test_labels) = role.file;
}

std::optional<std::string> FilesLayout::recognise(const FileSet& /*files*/) const {
  return "no other one fits";
}

Description FilesLayout::describe(const FileSet& files) const {
  return FilesGuess(files).run();
}

}  // namespace sluice
