#include "prep/layout/files.h"

#include "prep/layout/files_guess.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

Description FilesGuess::run() {
  for (const std::string& name : files_.names()) roles_.push_back(role_of(name));
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
std::string FilesGuess::why_unread(const std::string& file) const {
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
    if (role.kind == FileRole::Kind::kMask)
      made_.warn(
          fmt::format("{}: masks are not read, a split is files of ids; in Python, "
                      "numpy.save('{}_idx.npy', numpy.flatnonzero(numpy.load('{}')))",
                      role.file,
                      role.part,
                      role.file));
  }
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
  if (guess_text(files_, role.file).format.empty()) return made_.warn(why_unread(role.file));
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

std::optional<std::string> FilesLayout::recognise(const FileSet& files) const {
  for (const std::string& name : files.names())
    if (!files.format_of(name).empty()) return "no other one fits";
  return std::nullopt;
}

Description FilesLayout::describe(const FileSet& files) const {
  return FilesGuess(files).run();
}

}  // namespace sluice
