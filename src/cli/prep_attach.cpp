#include "cli/prep_commands.h"
#include "prep/update/attach.h"

#include <fmt/format.h>
#include <sluice/graph_schema.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace sluice::cli {
namespace {

// What `sluice-prep attach` collects before it runs.
struct AttachRequest {
  AttachOptions options;
  std::string dataset, file;
  std::string dtype = "f32";
  bool replace = false;

  void settle() {
    options.dataset = dataset;
    options.file = file;
    options.dtype = parse_feature_dtype(dtype).value_or(DType::kF32);
    options.table = replace ? Overwrite::kReplace : Overwrite::kRefuse;
    options.created_by =
        fmt::format("sluice-prep {} attach --name {}", SLUICE_VERSION, options.name);
  }
};

void run_attach(AttachRequest request, PrepSession& session) {
  PrepContext& context = session.start();
  request.settle();
  const AttachReport report = attach_table(request.options, context);
  if (session.json()) {
    nlohmann::ordered_json object = {{"dataset", request.dataset},
                                     {"generation", report.generation},
                                     {"table", request.options.name},
                                     {"rows", report.rows},
                                     {"columns", report.columns},
                                     {"bytes", {{"table", report.bytes}}}};
    session.add_figures(object);
    return print_json(object);
  }
  fmt::print("{}: table '{}', {} rows of {}, {}, generation {} {}\n",
             request.dataset,
             request.options.name,
             format_count(report.rows),
             report.columns,
             format_bytes(report.bytes),
             report.generation,
             session.figures_text());
}

}  // namespace

void add_attach(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command =
      app.add_subcommand("attach", "make rows of a file a feature table of a node type");
  auto request = std::make_shared<AttachRequest>();
  command->add_option("dataset", request->dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  command
      ->add_option(
          "file",
          request->file,
          "a .safetensors with rows, f32 [nodes, columns], as `sluice-train embed` writes; "
          "ids, where it has some, must be the dataset's in its order")
      ->required()
      ->type_name("FILE");
  command->add_option("--name", request->options.name, "of the table")
      ->required()
      ->type_name("NAME");
  command
      ->add_option("--type", request->options.node_type, "the node type, where there are several")
      ->type_name("NAME");
  command->add_option("--dtype", request->dtype, "of the table")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command->add_flag("--replace", request->replace, "replace a table that has the name already");
  session.add_options(*command);
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run_attach(*request, session); };
  });
  command->footer("Example:\n  sluice-prep attach data/papers scores.safetensors --name predicted");
}

}  // namespace sluice::cli
