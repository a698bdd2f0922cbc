#include "cli/train_commands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

// What `sluice-train run` collects before it runs.
struct RunRequest {
  std::string config;
  std::vector<std::string> sets;
  bool overwrite = false;
  bool dry = false;
};

std::string catalog_text(const OptionsCatalog& catalog) {
  std::string text;
  for (const auto& entry : catalog.list())
    text += fmt::format("  {:<20}  {}\n", entry.name, entry.help);
  return text;
}

bool reads(const DryRun& dry) {
  return dry.places.features.where == Placement::kDisk ||
         dry.places.topology.where == Placement::kDisk;
}

std::string plan_of(const LoaderForecast& epoch) {
  return epoch.plans.empty() ? "none"
                             : plan_name(epoch.windows, epoch.windows_swept, epoch.windows_packed);
}

std::string epoch_text(const DryRun& dry) {
  const LoaderForecast& epoch = dry.forecast;
  std::string text = fmt::format("{} mini-batches an epoch", format_count(epoch.batches));
  if (!reads(dry)) return text + "; nothing is read from disk\n";
  text += fmt::format(
      ", in {} windows\n# the first epoch, ESTIMATED from {} of them:\n"
      "#   reads {}, writes {}, {} requests: {:.2f} s of the disk\n",
      format_count(epoch.windows),
      format_count(epoch.batches_sampled),
      format_bytes(epoch.bytes_read),
      format_bytes(epoch.bytes_written),
      format_count(epoch.requests),
      epoch.seconds);
  if (dry.places.features.where == Placement::kDisk) {
    text += fmt::format(
        "#   rows: {} distinct a window on average, {} of them not in the cache, which has room "
        "for {}\n",
        format_count(epoch.rows_wanted / epoch.windows),
        format_count(epoch.rows_missed / epoch.windows),
        format_count(epoch.cache_rows));
  }
  for (const std::string& plan : epoch.plans) text += fmt::format("#   plan of {}\n", plan);
  return text;
}

std::string estimate_text(const DryRun& dry) {
  const EpochEstimate& epoch = dry.estimate;
  return fmt::format(
      "# an epoch takes about {:.3g} s, ESTIMATED: {:.3g} s of steps ({} were timed), {:.3g} s of "
      "sampling, {:.3g} s of the disk, whichever is longest\n"
      "#   reads {}, writes {}; the run takes at most {} of disk: learned rows, checkpoints, "
      "scratch files\n",
      epoch.seconds,
      epoch.step_seconds,
      epoch.timed.steps,
      epoch.sample_seconds,
      epoch.disk_seconds,
      format_bytes(epoch.bytes_read),
      format_bytes(epoch.bytes_written),
      format_bytes(epoch.disk_bytes));
}

nlohmann::ordered_json estimate_json(const EpochEstimate& epoch) {
  return {{"seconds", epoch.seconds},
          {"step_seconds", epoch.step_seconds},
          {"steps_timed", epoch.timed.steps},
          {"sample_seconds", epoch.sample_seconds},
          {"disk_seconds", epoch.disk_seconds},
          {"bytes", {{"read", epoch.bytes_read}, {"written", epoch.bytes_written}}},
          {"run_disk_bytes", epoch.disk_bytes}};
}

nlohmann::ordered_json epoch_json(const LoaderForecast& epoch) {
  return {
      {"estimate", true},
      {"batches", epoch.batches},
      {"batches_sampled", epoch.batches_sampled},
      {"windows", epoch.windows},
      {"rows",
       {{"wanted", epoch.rows_wanted}, {"missed", epoch.rows_missed}, {"cache", epoch.cache_rows}}},
      {"plan", plan_of(epoch)},
      {"why", epoch.plans},
      {"bytes", {{"read", epoch.bytes_read}, {"written", epoch.bytes_written}}},
      {"requests", epoch.requests},
      {"seconds", epoch.seconds}};
}

nlohmann::ordered_json split_json(const MemoryTable& table, const MemoryPhase& phase) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const MemoryLine& line : table.lines) {
    if (phase.takes(line.use)) json[line.name] = line.bytes;
  }
  return json;
}

nlohmann::ordered_json memory_json(const MemoryTable& plan) {
  nlohmann::ordered_json json = {{"budget", plan.budget},
                                 {"least", plan.least},
                                 {"split", split_json(plan, plan.phases.back())}};
  // What is there before steps, where that is something else.
  if (plan.phases.size() > 1) json["before_steps"] = split_json(plan, plan.phases.front());
  return json;
}

void print_dry_run(const DryRun& dry, const TrainSession& session) {
  const char* features = dry.places.features.where == Placement::kMemory ? "memory" : "disk";
  const char* learned = dry.places.embeddings.where == Placement::kMemory ? "memory" : "disk";
  const bool device = dry.plan.device.budget != 0;
  const std::string topology = topology_name(dry.places.topology.where, dry.places.relations);
  if (!session.json()) {
    fmt::print("{}\n# memory\n{}\n\n# features in {}: {}; read by {}\n# edges in {}: {}\n# {}",
               dry.config,
               dry.plan.table(),
               features,
               dry.places.features.why,
               dry.engine,
               topology == "mixed" ? "memory and on disk" : topology,
               dry.places.topology.why,
               epoch_text(dry));
    if (dry.learned.disk != 0)
      fmt::print("# learned rows in {}: {}; {} on disk a checkpoint at the most\n",
                 learned,
                 dry.places.embeddings.why,
                 format_bytes(dry.learned.disk));
    fmt::print("{}", estimate_text(dry));
    if (device) fmt::print("# on the GPU\n{}\n", dry.plan.device.table());
    return;
  }
  print_json({{"config", dry.config},
              {"storage",
               {{"features", features},
                {"why", dry.places.features.why},
                {"topology", topology},
                {"relations", dry.relations},
                {"engine", dry.engine}}},
              {"learned_rows",
               {{"in", learned},
                {"why", dry.places.embeddings.why},
                {"disk_bytes", dry.learned.disk},
                {"cache_bytes", dry.plan.learned_cache}}},
              {"memory", memory_json(dry.plan)},
              {"device", memory_json(dry.plan.device)},
              {"batches", dry.forecast.batches},
              {"epoch", epoch_json(dry.forecast)},
              {"estimate", estimate_json(dry.estimate)}});
}

void run(const RunRequest& request, TrainSession& session) {
  const TrainContext& context = session.start();
  Config config = Config::load(request.config);
  for (const std::string& assignment : request.sets) config.set(assignment);
  const RunOptions options = resolve_options(config, session.registry());
  if (request.dry) return print_dry_run(dry_run(options, context), session);
  const auto mode = request.overwrite ? RunDirectory::Mode::kReplace : RunDirectory::Mode::kNew;
  print_report(run_training(options, mode, context), session);
}

}  // namespace

void add_run(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "run", "train as a config says, evaluate, and keep the run in a directory");
  auto request = std::make_shared<RunRequest>();
  command->add_option("config", request->config, "the config; `config init DATASET` writes one")
      ->required()
      ->type_name("FILE");
  add_set(*command, request->sets);
  command->add_flag(
      "--overwrite", request->overwrite, "replace the run that is in the run directory");
  command->add_flag(
      "--dry-run",
      request->dry,
      "print the resolved config, where the memory would go, and an estimate of an epoch: seconds, "
      "what it reads and writes, and how; train nothing");
  session.add_trace(*command);
  session.add_options(*command);
  command->footer(fmt::format(
      "Models:\n{}Tasks:\n{}Optimizers:\n{}\nTheir keys: sluice-train config keys\n\nExample:\n"
      "  sluice-train run configs/cora-gcn.toml --set train.epochs=50",
      catalog_text(session.registry().models),
      catalog_text(session.registry().tasks),
      catalog_text(session.registry().optimizers)));
  command->callback([request, &session, &action] {
    action.run = [request, &session] { run(*request, session); };
  });
}

void add_resume(CLI::App& app, TrainSession& session, TrainAction& action) {
  CLI::App* command = app.add_subcommand(
      "resume", "go on with an interrupted run, or train a finished one for longer");
  auto request = std::make_shared<RunRequest>();
  command->add_option("directory", request->config, "the run directory")
      ->required()
      ->type_name("DIR");
  add_set(*command, request->sets);
  session.add_trace(*command);
  session.add_options(*command);
  command->footer(
      "Keys that may change: storage, memory, train.epochs, train.data_threads, "
      "train.checkpoint_every,\n"
      "train.checkpoint_minutes, train.early_stopping.patience, dataset.path (the same data "
      "elsewhere).\n\n"
      "Example:\n  sluice-train resume runs/papers --set train.epochs=20");
  command->callback([request, &session, &action] {
    action.run = [request, &session] {
      print_report(resume_training(request->config, request->sets, session.start()), session);
    };
  });
}

}  // namespace sluice::cli
