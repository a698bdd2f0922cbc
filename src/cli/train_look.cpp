#include "cli/train_commands.h"
#include "train/config_init.h"
#include "train/doctor.h"
#include "train/options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

constexpr std::uint64_t kScratchBytes = 256 * kMiB;

void print_config_keys(const TrainRegistry& registry) {
  RunOptions options(registry);
  Schema schema;
  options.describe(schema);
  fmt::print("# A training config: every key with its default and meaning\n\n{}",
             schema.reference());
}

void doctor(const std::string& folder, TrainSession& session) {
  session.start();
  const DoctorReport report = examine(folder, kScratchBytes);
  if (!session.json()) return fmt::print("{}", to_text(report));
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const IoFigure& figure : report.figures) {
    figures.push_back({{"name", figure.name},
                       {"bytes_per_second", figure.bytes_per_second()},
                       {"requests_per_second", figure.requests_per_second()}});
  }
  print_json({{"cores", report.cores},
              {"processor",
               {{"name", report.processor},
                {"least", kLeastIsa},
                {"newest", report.newest_isa},
                {"used", report.used_isa}}},
              {"memory",
               {{"granted", report.memory_granted},
                {"cgroup",
                 {{"version", report.cgroup.version},
                  {"path", report.cgroup.path},
                  {"limit", report.cgroup.limit}}}}},
              {"libtorch",
               {{"version", report.libtorch},
                {"isa", report.isa},
                {"threads", report.torch_threads},
                {"mkl_cbwr", report.mkl}}},
              {"device", {{"name", report.device}, {"why", report.why_device}}},
              {"engine", {{"name", report.engine}, {"why", report.why_engine}}},
              {"folder",
               {{"path", report.folder},
                {"direct", report.direct},
                {"request_overhead_bytes", report.request_overhead_bytes},
                {"figures", figures}}}});
}

}  // namespace

void add_config(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* config = app.add_subcommand("config", "write a config, or list its keys");
  config->require_subcommand(1);
  CLI::App* init = config->add_subcommand(
      "init", "print a commented config that fits a dataset and this machine");
  auto dataset = std::make_shared<std::string>();
  init->add_option("dataset", *dataset, "the dataset directory")->required()->type_name("DIR");
  auto task = std::make_shared<std::string>();
  init->add_option("--task", *task, "what to learn; default: what the labels of nodes are for")
      ->type_name("TASK");
  auto model = std::make_shared<std::string>();
  init->add_option("--model", *model, "whose keys to write; default: graphsage")
      ->type_name("MODEL");
  const auto listed = [](const auto& catalog) {
    std::string lines;
    for (const auto& entry : catalog.list())
      lines += fmt::format("  {:<20}  {}\n", entry.name, entry.help);
    return lines;
  };
  init->footer(
      fmt::format("Tasks:\n{}\nModels:\n{}\nExamples:\n"
                  "  sluice-train config init data/papers > papers.toml\n"
                  "  sluice-train config init data/papers --task link_prediction > links.toml\n"
                  "  sluice-train config init data/papers --model gat > gat.toml",
                  listed(session.registry().tasks),
                  listed(session.registry().models)));
  init->callback([dataset, task, model, &session, &action] {
    action.run = [dataset, task, model, &session] {
      fmt::print("{}", config_for(*dataset, session.registry(), *task, *model));
    };
  });
  CLI::App* keys =
      config->add_subcommand("keys", "print every key with its default, unit, range and meaning");
  keys->callback(
      [&session, &action] { action.run = [&session] { print_config_keys(session.registry()); }; });
  keys->footer("Example:\n  sluice-train config keys | less");
}

void add_doctor(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "say what this machine offers: processor, memory, GPU, io_uring, speed of the disk");
  auto folder = std::make_shared<std::string>(".");
  command
      ->add_option(
          "--dir", *folder, "the folder whose disk to measure; takes 256 MiB for a few seconds")
      ->type_name("DIR")
      ->capture_default_str();
  session.add_options(*command);
  command->callback([folder, &session, &action] {
    action.run = [folder, &session] { doctor(*folder, session); };
  });
  command->footer("Example:\n  sluice-train doctor --dir data");
}

}  // namespace sluice::cli
