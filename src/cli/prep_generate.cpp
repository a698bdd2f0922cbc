#include "cli/prep_commands.h"
#include "prep/generate/generator.h"
#include "registry/core.h"

#include <fmt/format.h>
#include <sluice/catalog.h>
#include <sluice/units.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `sluice-prep generate NAME` collects before it runs.
struct Request {
  std::string name;
  std::string out;
  bool overwrite = false;
  std::map<std::string, std::string> values;  // by key, as typed
};

std::string flag_of(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// One flag for each key of the generator's options, with the schema's own help.
void add_flags(CLI::App& command, AnyOptions& options, Request& request) {
  Schema schema;
  options.describe(schema);
  for (const auto& field : schema.fields()) {
    std::string help = field->help_text().empty() ? "" : field->help_text() + "; ";
    help += fmt::format("{} [{}]", field->type_name(), field->value_text());
    command.add_option(flag_of(field->key()), request.values[field->key()], help)->type_name("");
  }
}

void run(const Request& request, PrepSession& session) {
  PrepContext& context = session.start();
  const Catalog<Generator> catalog = builtin_generators();
  Config config = Config::parse("", "");
  std::string command = "sluice-prep " SLUICE_VERSION " generate " + request.name;
  for (const auto& [key, value] : request.values) {
    if (value.empty()) continue;
    config.set(key + "=" + value, flag_of(key));
    command += fmt::format(" {} {}", flag_of(key), value);
  }
  Selection selection{request.name, catalog.make_options(request.name)};
  Schema schema;
  selection.options->describe(schema);
  config.bind(schema);

  const auto generator = catalog.create(selection);
  DatasetWriter writer(
      request.out, request.overwrite ? Overwrite::kReplace : Overwrite::kRefuse, &context.ledger);
  for (const std::string& leftover : writer.staging().swept()) {
    context.log.warn("removed what an interrupted run had left: {}", leftover);
  }
  generator->generate(writer, context);
  const GraphSchema graph = writer.schema();
  const std::uint64_t bytes = writer.bytes();
  writer.commit(command);

  if (session.json()) {
    nlohmann::ordered_json object = {{"dataset", request.out},
                                     {"nodes", graph.total_nodes()},
                                     {"edges", graph.total_edges()},
                                     {"bytes", {{"written", bytes}}}};
    session.add_figures(object);
    print_json(object);
  } else {
    fmt::print("{}: {} nodes, {} edges, {} {}\n",
               request.out,
               format_count(graph.total_nodes()),
               format_count(graph.total_edges()),
               format_bytes(bytes),
               session.figures_text());
  }
}

}  // namespace

void add_generate(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* generate =
      app.add_subcommand("generate", "make a synthetic graph, for benchmarks and demos");
  generate->require_subcommand(1);
  const Catalog<Generator> catalog = builtin_generators();
  for (const auto& entry : catalog.list()) {
    CLI::App* command = generate->add_subcommand(entry.name, entry.help);
    auto request = std::make_shared<Request>();
    request->name = entry.name;
    command->add_option("--out", request->out, "the dataset directory to make")
        ->required()
        ->type_name("DIR");
    command->add_flag("--overwrite", request->overwrite, "replace a dataset that is there");
    const auto options = catalog.make_options(entry.name);
    add_flags(*command, *options, *request);
    session.add_options(*command);
    command->callback([request, &session, &action] {
      action.run = [request, &session] { run(*request, session); };
    });
  }
  generate->footer(
      "Example:\n  sluice-prep generate rmat --scale 20 --features 128 --out data/rmat20");
}

}  // namespace sluice::cli
