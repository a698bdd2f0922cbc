#include "prep/layout/named_triples.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

constexpr const char* kTriples = "train.txt";
constexpr const char* kEntityNames = "entities.txt";
constexpr const char* kRelationNames = "relations.txt";

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Three numbers: of other triples names stand in the file itself.
bool is_numbered_triple(std::string_view line) {
  std::size_t fields = 0;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size(); ++fields) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    if (!is_whole_number(line.substr(at, end - at))) return false;
    at = line.find_first_not_of(" \t\r", end);
  }
  return fields == 3;
}

std::optional<std::string> folder_of_all(const FileSet& files) {
  const auto folder = files.folder_of(kTriples);
  if (!folder || !files.has(*folder + kEntityNames) || !files.has(*folder + kRelationNames))
    return std::nullopt;
  const std::vector<std::string> lines = files.first_lines(*folder + kTriples, 1);
  return !lines.empty() && is_numbered_triple(lines[0]) ? folder : std::nullopt;
}

}  // namespace

std::optional<std::string> NamedTriplesLayout::recognise(const FileSet& files) const {
  const auto folder = folder_of_all(files);
  if (!folder) return std::nullopt;
  return fmt::format("there are {0}{1} of three numbers a line, {0}{2} and {0}{3}",
                     *folder,
                     kTriples,
                     kEntityNames,
                     kRelationNames);
}

Description NamedTriplesLayout::describe(const FileSet& files) const {
  Description made(files);
  const std::string folder = *folder_of_all(files);
  NodeSpec& node = made.spec.nodes.emplace_back();
  node.type = "entity";
  node.names.file = folder + kEntityNames;
  made.comment("nodes[0].names.file", "What entities are called: results go by these names.");
  EdgeSpec& edge = made.spec.edges.emplace_back();
  edge.file = folder + kTriples;
  edge.format = "triples";
  edge.type_column = "relation";
  edge.types = EdgeTypes::kLabels;
  edge.type_names.file = folder + kRelationNames;
  edge.source_column = "head";
  edge.target_column = "tail";
  made.comment("edges[0].types",
               fmt::format("One relation of all types, which {} names; \"relations\" would make "
                           "one of each.",
                           edge.type_names.file));
  SplitSpec split;
  split.of = SplitOf::kEdges;
  split.format = "triples";
  if (files.has(folder + "valid.txt")) split.valid = folder + "valid.txt";
  if (files.has(folder + "test.txt")) split.test = folder + "test.txt";
  if (!split.valid.empty() || !split.test.empty()) made.spec.splits.push_back(split);
  return made;
}

}  // namespace sluice
