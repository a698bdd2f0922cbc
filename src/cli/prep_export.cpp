#include "cli/prep_commands.h"
#include "prep/export/export.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

void run_export(const ExportOptions& options, PrepSession& session) {
  const ExportReport report = export_dataset(options, session.start());
  if (session.json()) {
    nlohmann::ordered_json object = {{"out", options.out.string()},
                                     {"files", report.files},
                                     {"bytes", {{"written", report.bytes}}}};
    session.add_figures(object);
    return print_json(object);
  }
  for (const std::string& file : report.files) fmt::print("  {}\n", file);
  fmt::print(
      "{}: {} {}\n", options.out.string(), format_bytes(report.bytes), session.figures_text());
}

}  // namespace

void add_export(CLI::App& app, PrepSession& session, PrepAction& action) {
  CLI::App* command = app.add_subcommand(
      "export", "write a dataset as CSV, Parquet or .npy files, under its external ids");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("dataset", options->dataset, "the dataset directory")
      ->required()
      ->type_name("DIR");
  command->add_option("--out", options->out, "the folder to make")->required()->type_name("DIR");
  const std::map<std::string, ExportFormat> formats{{"csv", ExportFormat::kCsv},
                                                    {"npy", ExportFormat::kNpy},
                                                    {"parquet", ExportFormat::kParquet}};
  command->add_option("--format", options->format, "csv (default), parquet or npy")
      ->transform(CLI::CheckedTransformer(formats, CLI::ignore_case));
  session.add_options(*command);
  command->callback([options, &session, &action] {
    action.run = [options, &session] { run_export(*options, session); };
  });
  command->footer("Example:\n  sluice-prep export data/papers --format parquet --out exported");
}

}  // namespace sluice::cli
