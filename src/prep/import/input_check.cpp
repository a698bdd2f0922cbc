#include "prep/import/input_check.h"

#include "prep/table/matrix_text.h"
#include "prep/table/shards.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace sluice {
namespace {

// A matrix of numbers would be read as edges between other nodes, where nobody said which columns
// are ids.
void refuse_matrices(const GraphSpec& spec,
                     const TableFormats& formats,
                     const std::filesystem::path& root,
                     const PrepContext& context) {
  const auto check = [&](const std::string& file, const std::string& format) {
    if (file.empty()) return;
    const std::vector<std::filesystem::path> parts = shards_of(TablePath::parse(root / file).file);
    if (parts.size() != 1) return;
    const std::string read_as = formats.resolve(parts.front(), format);
    if ((read_as != "csv" && read_as != "list") || !std::filesystem::is_regular_file(parts.front()))
      return;
    const auto matrix = find_matrix(parts.front(), read_as == "list" ? "#%" : "", context.ledger);
    if (matrix && matrix->certain) throw matrix_error(*matrix, parts.front());
    if (matrix) context.log.warn("{}", matrix_doubt(*matrix, parts.front()));
  };
  for (const EdgeSpec& edge : spec.edges)
    if (edge.source_column.empty() && edge.target_column.empty()) check(edge.file, edge.format);
  for (const SplitSpec& split : spec.splits) {
    if (split.of != SplitOf::kEdges || !split.source_column.empty()) continue;
    for (const std::string& file : {split.train, split.valid, split.test})
      check(file, split.format);
  }
}

// What formats find doubtful about the files that are read with their options.
void say_doubts(const GraphSpec& spec,
                const TableFormats& formats,
                const std::filesystem::path& root,
                Logger& log) {
  std::map<std::string, std::vector<TableUse>> uses;
  for (const SpecFile& named : files_of(spec)) {
    // "[[nodes]] 'node' features.file" is a use as features, whatever the type.
    std::string role = named.key.substr(named.key.rfind(' ') + 1);
    if (role == "file") role = "edges";
    if (role == "train" || role == "valid" || role == "test") role = "splits";
    for (const auto& path : shards_of(TablePath::parse(root / named.file).file))
      uses[formats.resolve(path, named.format)].push_back({path, role});
  }
  for (const auto& [format, options] : spec.formats)
    for (const std::string& doubt : formats.doubts(format, spec.formats, uses[format]))
      log.warn("{}", doubt);
}

}  // namespace

void check_files(const GraphSpec& spec,
                 const TableFormats& formats,
                 const std::filesystem::path& root) {
  for (const SpecFile& named : files_of(spec)) {
    for (const auto& path : shards_of(TablePath::parse(root / named.file).file)) {
      const std::string format = formats.resolve(path, named.format);
      const bool edges = named.key.ends_with("' file") || named.key.starts_with("[[splits]]");
      if (formats.edges_only(format) && !edges)
        throw Error(
            ErrorCode::kUsage,
            fmt::format("it holds edges alone, by its format {}, and is {}", format, named.key),
            "save what it holds as .npy or .csv, one row each",
            Place{path.string(), -1, -1, -1});
      std::error_code problem;
      if (std::filesystem::exists(path, problem)) continue;
      throw Error(ErrorCode::kData,
                  fmt::format("there is no such file (it is {})", named.key),
                  "file names are relative to graph.toml's folder, its root key, or --root",
                  Place{path.string(), -1, -1, -1});
    }
  }
}

void check_contents(const GraphSpec& spec,
                    const TableFormats& formats,
                    const std::filesystem::path& root,
                    const PrepContext& context) {
  refuse_matrices(spec, formats, root, context);
  say_doubts(spec, formats, root, context.log);
}

}  // namespace sluice
