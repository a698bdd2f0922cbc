#include "cli/prep_commands.h"
#include "cli/prep_describe.h"
#include "prep/import/import.h"
#include "prep/table/shards.h"
#include "registry/core.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

namespace sluice::cli {
namespace {

// What `sluice-prep import` collects before it runs.
struct ImportRequest {
  std::vector<std::string> paths;
  std::string layout = "auto";
  bool yes = false;
  std::string config;
  std::string out;
  std::optional<std::string> root;
  std::string dtype, rounding;
  std::vector<std::string> sets;
  bool overwrite = false;
  bool resume = false;
  bool keys = false;
};

void print_import_keys() {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  spec.nodes.resize(1);
  Schema schema;
  spec.describe(schema);
  fmt::print("# graph.toml: what the raw files hold\n\n{}", schema.reference());
}

nlohmann::ordered_json relations_json(const ImportReport& report) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RelationImport& relation : report.relations) {
    all.push_back({{"relation", relation.key},
                   {"edges_read", relation.stats.edges_read},
                   {"edges_written", relation.stats.edges_written},
                   {"self_loops_dropped", relation.stats.self_loops_dropped},
                   {"duplicates_dropped", relation.stats.duplicates_dropped},
                   {"rows_skipped", relation.skipped},
                   {"max_in_degree", relation.stats.max_in_degree},
                   {"isolated_targets", relation.stats.isolated_targets}});
  }
  return all;
}

// --dtype and --rounding stand for these keys of every node type that has features.
void apply_storage_flags(const ImportRequest& request, GraphSpec& spec) {
  if (request.dtype.empty() && request.rounding.empty()) return;
  Config flags = Config::parse("", "");
  if (!request.dtype.empty()) flags.set("dtype=" + request.dtype, "--dtype");
  if (!request.rounding.empty()) flags.set("rounding=" + request.rounding, "--rounding");
  FeatureChoice choice;
  flags.bind_to(choice);
  bool any = false;
  for (NodeSpec& node : spec.nodes) {
    if (node.features.file.empty()) continue;
    any = true;
    if (!request.dtype.empty()) node.features.choice.dtype = choice.dtype;
    if (!request.rounding.empty()) node.features.choice.rounding = choice.rounding;
  }
  if (!any) {
    throw Error(ErrorCode::kUsage,
                "--dtype and --rounding are of features, and no node type has any",
                "leave them out, or name a file: [[nodes]] features.file = ...");
  }
}

std::string command_line(const ImportRequest& request) {
  std::string line = "sluice-prep " SLUICE_VERSION " import";
  if (!request.config.empty()) line += " --config " + request.config;
  for (const std::string& path : request.paths) line += " " + path;
  if (request.layout != "auto") line += " --layout " + request.layout;
  if (request.yes) line += " --yes";
  if (!request.dtype.empty()) line += " --dtype " + request.dtype;
  if (!request.rounding.empty()) line += " --rounding " + request.rounding;
  return line;
}

// What must be the same for stages of an earlier run to be good for this one: the command, its
// configuration, and the files as they are.
std::string fingerprint(const ImportRequest& request,
                        const std::string& toml,
                        const GraphSpec& spec,
                        const std::filesystem::path& root) {
  std::string text = command_line(request) + "\n";
  for (const std::string& assignment : request.sets) text += assignment + "\n";
  text += toml;
  const auto add = [&](const std::string& file) {
    for (const auto& path : shards_of(TablePath::parse(root / file).file)) {
      std::error_code problem;
      const auto size = std::filesystem::file_size(path, problem);
      if (problem) return;  // a missing file is named when it is opened
      const auto time = std::filesystem::last_write_time(path, problem);
      text += fmt::format("\n{} {} {}",
                          path.lexically_relative(root).string(),
                          size,
                          time.time_since_epoch().count());
    }
  };
  for (const SpecFile& named : files_of(spec)) add(named.file);
  return text;
}

void check_request(const ImportRequest& request) {
  const auto refuse = [](const char* message, const char* hint) {
    throw Error(ErrorCode::kUsage, message, hint);
  };
  if (!request.paths.empty() && !request.config.empty())
    refuse("--config and PATHs exclude each other",
           "a graph.toml names the files; without one, PATHs are described by a layout");
  if (request.paths.empty() && request.config.empty())
    refuse("import needs --config and --out, or a PATH",
           "for example: sluice-prep import --config graph.toml --out data/papers");
  if (request.paths.empty() && (request.yes || request.layout != "auto"))
    refuse("--yes and --layout are for PATHs", "leave them out: a graph.toml says it all");
  if (request.out.empty() && (request.paths.empty() || request.yes))
    refuse("import needs --out", "the dataset directory to make: --out data/papers");
}

// The graph.toml of a user, or the one that a layout makes.
DescribedPaths describe(const ImportRequest& request,
                        const TableFormats& formats,
                        PrepContext& context) {
  if (!request.paths.empty())
    return describe_paths(
        {request.paths, request.layout, request.root, request.sets}, formats, context);
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  Config config = Config::load(request.config);
  for (const std::string& assignment : request.sets) config.set(assignment);
  DescribedPaths described{GraphSpec(formats), {}, {}};
  config.bind_to(described.spec);
  described.toml = read_text_file(request.config, kMaxBytes).or_throw();
  return described;
}

// Shows what was found out; true where that is all that was asked for.
bool show_description(const ImportRequest& request,
                      const DescribedPaths& described,
                      PrepSession& session,
                      PrepContext& context) {
  if (request.paths.empty()) return false;
  if (!session.json()) fmt::print("{}", described.toml);
  flush_output();
  if (request.yes) return false;
  if (session.json())
    print_json({{"graph_toml", described.toml}, {"warnings", described.warnings}});
  context.log.info(
      "nothing is imported yet: save this as graph.toml, check it and say --config graph.toml "
      "--out DIR; or say --yes --out DIR");
  return true;
}

void run_import(const ImportRequest& request, PrepSession& session) {
  if (request.keys) return print_import_keys();
  check_request(request);
  PrepContext& context = session.start();
  const TableFormats formats = table_formats();
  const DescribedPaths described = describe(request, formats, context);
  if (show_description(request, described, session, context)) return;
  GraphSpec spec = described.spec;
  apply_storage_flags(request, spec);

  ImportOptions options;
  options.root = resolve_root(spec, request.config, request.root);
  options.out = request.out;
  options.overwrite = request.overwrite ? Overwrite::kReplace : Overwrite::kRefuse;
  options.created_by = command_line(request);
  options.resume = {fingerprint(request, described.toml, spec, options.root), request.resume};
  const ImportReport report = import_dataset(std::move(spec), formats, options, context);
  if (!session.json()) {
    fmt::print("{}{}: {} {}\n", to_text(report), request.out, "done", session.figures_text());
    return;
  }
  nlohmann::ordered_json object = {{"dataset", request.out},
                                   {"nodes", report.nodes},
                                   {"edges", report.edges},
                                   {"bytes", {{"written", report.bytes}}},
                                   {"relations", relations_json(report)}};
  for (const TypeImport& type : report.types)
    object["node_types"].push_back(
        {{"type", type.type}, {"created", type.created}, {"rows_skipped", type.skipped}});
  session.add_figures(object);
  print_json(object);
}

}  // namespace

void add_import(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command =
      app.add_subcommand("import", "turn raw files into a dataset, as a graph.toml describes them");
  auto request = std::make_shared<ImportRequest>();
  command
      ->add_option("PATH",
                   request->paths,
                   "instead of --config: a folder, or files; prints the graph.toml that describes "
                   "them")
      ->type_name("");
  command->add_option("--layout", request->layout, "how the files of PATH lie; auto: see below")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--yes", request->yes, "with PATH: import as it is described, into --out");
  command->add_option("--config", request->config, "the graph.toml that describes the files")
      ->type_name("FILE");
  command->add_option("--out", request->out, "the dataset directory to make")->type_name("DIR");
  command
      ->add_option("--root",
                   request->root,
                   "folder of the files; else graph.toml's root, else its own folder")
      ->type_name("DIR");
  command
      ->add_option("--dtype",
                   request->dtype,
                   "store features as auto, f32, f16, bf16 or int8; the key features.dtype of all "
                   "node types")
      ->type_name("DTYPE");
  command
      ->add_option("--rounding",
                   request->rounding,
                   "auto, nearest or stochastic, the default of int8; the key features.rounding")
      ->type_name("HOW");
  command->add_option("--set", request->sets, "override a key of the graph.toml")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_flag("--overwrite", request->overwrite, "replace a dataset that is there");
  command->add_flag("--resume",
                    request->resume,
                    "go on where the same command was killed: relations that were finished stay");
  command->add_flag(
      "--keys", request->keys, "print every key of graph.toml with its default and meaning");
  session.add_options(*command);
  command->footer(
      "Examples:\n  sluice-prep import --config graph.toml --out data/papers\n"
      "  sluice-prep import FOLDER > graph.toml              # look at it, then --config it\n"
      "  sluice-prep import edges.csv --yes --out data/mine  # take the guess\n"
      "Layouts:\n" +
      layouts_help() +
      "The smallest graph.toml:\n  [[edges]]\n  file = \"edges.csv\"      # columns src,dst of "
      "dense ids 0, 1, 2, ...");
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run_import(*request, session); };
  });
}

}  // namespace sluice::cli
