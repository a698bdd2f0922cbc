#include "cli/catalog_entry.h"
#include "cli/prep_commands.h"
#include "prep/generate/generator.h"
#include "registry/core.h"

#include <fmt/format.h>
#include <sluice/catalog.h>
#include <sluice/units.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::cli {
namespace {

// What may follow "sluice-prep generate", by generator; one without an example shows the first.
constexpr std::pair<std::string_view, std::string_view> kGenerateExamples[] = {
    {"rmat", "rmat --scale 20 --features 128 --out data/rmat20"},
    {"sbm", "sbm --nodes 10000 --edges 100000 --features 32 --out data/sbm"},
    {"temporal", "temporal --nodes 10000 --events 100000 --edge-features 16 --out data/events"},
    {"hetero",
     "hetero --papers 10000 --authors 5000 --features 64 --out data/papers\n"
     "  sluice-prep generate hetero --relations 8 --kinds 4 --widths 64,256,768,1024 --dtypes "
     "f32,f16 --out data/kinds"},
    {"kg", "kg --entities 10000 --relations 20 --edges 100000 --out data/kg"}};

std::string generate_example(std::string_view name) {
  const auto* found = std::ranges::find(
      kGenerateExamples, name, &std::pair<std::string_view, std::string_view>::first);
  if (found == std::ranges::end(kGenerateExamples)) found = std::ranges::begin(kGenerateExamples);
  return fmt::format("Example:\n  sluice-prep generate {}", found->second);
}

// What `sluice-prep generate NAME` collects before it runs.
struct GenerateRequest {
  CatalogEntry entry;
  std::string out;
  bool overwrite = false;
  bool resume = false;
};

void run_generate(const GenerateRequest& request, PrepSession& session) {
  PrepContext& context = session.start();
  const Catalog<Generator> catalog = builtin_generators();
  const auto generator = catalog.create(request.entry.selection(catalog));
  const std::string command =
      "sluice-prep " SLUICE_VERSION " generate " + request.entry.command_line();
  DatasetWriter writer(request.out,
                       request.overwrite ? Overwrite::kReplace : Overwrite::kRefuse,
                       &context.ledger,
                       {command, request.resume});
  for (const std::string& leftover : writer.staging().swept()) {
    context.log.warn("removed what an interrupted run had left: {}", leftover);
  }
  generator->generate(writer, context);
  const GraphSchema graph = writer.schema();
  const std::uint64_t bytes = writer.bytes();
  if (writer.stages_taken_over() != 0)
    context.log.info("took over {} stages that were finished", writer.stages_taken_over());
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
    auto request = std::make_shared<GenerateRequest>();
    command->add_option("--out", request->out, "the dataset directory to make")
        ->required()
        ->type_name("DIR");
    command->add_flag("--overwrite", request->overwrite, "replace a dataset that is there");
    command->add_flag("--resume",
                      request->resume,
                      "go on where the same command was killed: finished stages stay");
    request->entry.add_flags(*command, catalog, entry.name);
    session.add_options(*command);
    command->footer(generate_example(entry.name));
    command->callback([request, &session, &action] {
      action.run = [request, &session] { run_generate(*request, session); };
    });
  }
  generate->footer(generate_example("rmat"));
}

}  // namespace sluice::cli
