#include "prep/layout/openke.h"

#include "prep/table/text_cells.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

namespace sluice {
namespace {

constexpr const char* kTrain = "train2id.txt";

std::optional<std::string> folder_with_all(const FileSet& files) {
  auto folder = files.folder_of(kTrain);
  if (!folder || !files.has(*folder + "entity2id.txt")) return std::nullopt;
  return folder;
}

// The number in a file's first line.
std::int64_t count_in(const FileSet& files, const std::string& name) {
  const std::vector<std::string> lines = files.first_lines(name, 1);
  const Place place{(files.root() / name).string(), 1, -1, -1};
  const std::string_view line = lines.empty() ? std::string_view() : trimmed_cell(lines[0]);
  std::int64_t count = -1;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), count);
  if (problem == std::errc::result_out_of_range)
    throw Error(ErrorCode::kData,
                fmt::format("the number {} in the first line does not fit", shown_cell(line)),
                "it is that of the lines that follow",
                place);
  if (problem == std::errc() && end == line.data() + line.size() && count >= 0) return count;
  throw Error(ErrorCode::kData,
              "the first line is not the number of lines that follow",
              "OpenKE's files begin with it; describe others in a graph.toml",
              place);
}

}  // namespace

std::optional<std::string> OpenKeLayout::recognise(const FileSet& files) const {
  const auto folder = folder_with_all(files);
  if (!folder) return std::nullopt;
  return fmt::format("there are {0}{1} and {0}entity2id.txt", *folder, kTrain);
}

Description OpenKeLayout::describe(const FileSet& files) const {
  Description made(files);
  const std::string folder = *folder_with_all(files);
  const std::string entities = folder + "entity2id.txt", relations = folder + "relation2id.txt";
  NodeSpec& node = made.spec.nodes.emplace_back();
  node.type = "entity";
  (void)count_in(files, entities);
  node.names = {entities, "name", "number", "openke"};
  made.comment("nodes[0].names.file", "What entities are called: results go by these names.");
  EdgeSpec& edge = made.spec.edges.emplace_back();
  edge.file = folder + kTrain;
  edge.format = "openke";
  edge.type_column = "relation";
  edge.types = EdgeTypes::kLabels;
  edge.source_column = "head";
  edge.target_column = "tail";
  made.comment(
      "edges[0].types",
      files.has(relations)
          ? fmt::format("One relation of {} types, which {} names; \"relations\" would make "
                        "one of each.",
                        format_count(static_cast<std::uint64_t>(count_in(files, relations))),
                        relations)
          : "One relation of all types; \"relations\" would make one of each.");
  if (files.has(relations)) edge.type_names = {relations, "name", "number", "openke"};
  SplitSpec split;
  split.of = SplitOf::kEdges;
  split.format = "openke";
  if (files.has(folder + "valid2id.txt")) split.valid = folder + "valid2id.txt";
  if (files.has(folder + "test2id.txt")) split.test = folder + "test2id.txt";
  if (!split.valid.empty() || !split.test.empty()) made.spec.splits.push_back(split);
  return made;
}

}  // namespace sluice
