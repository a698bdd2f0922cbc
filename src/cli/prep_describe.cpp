#include "cli/prep_describe.h"

#include "core/utf8.h"
#include "registry/core.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

// What is described is TOML, so it can name only what is called in UTF-8.
void check_names(const GraphSpec& spec) {
  const auto check = [](const std::string& name, const char* what) {
    if (valid_utf8(name)) return;
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the name of this {} is not valid UTF-8, which a graph.toml must be", what),
        "rename it, or make a link to it under another name: ln -s",
        Place{name, -1, -1, -1});
  };
  check(spec.root, "folder");
  for (const SpecFile& named : files_of(spec)) check(named.file, "file");
}

}  // namespace

DescribedPaths describe_paths(const PathsRequest& request,
                              const TableFormats& formats,
                              PrepContext& context) {
  const FileSet files(
      request.paths, request.root.value_or(""), formats, context.ledger, context.arena);
  const Description made = describe_files(layouts(), request.layout, files);
  for (const std::string& warning : made.warnings) context.log.warn("left out: {}", warning);
  check_names(made.spec);
  // The spec is read back from the text, as it would be from the file that a user saves.
  Config config = Config::parse(to_toml(made.spec, formats), "the guessed graph.toml");
  for (const std::string& assignment : request.sets) config.set(assignment);
  DescribedPaths described{GraphSpec(formats), {}, made.warnings};
  config.bind_to(described.spec);
  described.toml = to_toml(described.spec, formats, made.comments);
  return described;
}

std::string layouts_help() {
  std::string text;
  const Layouts known = layouts();
  for (const auto& entry : known.list()) text += fmt::format("  {:<8}{}\n", entry.name, entry.help);
  return text;
}

}  // namespace sluice::cli
