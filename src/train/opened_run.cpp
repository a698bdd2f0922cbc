#include "train/opened_run.h"

#include "pipeline/trace.h"

#include <sluice/tasks/pair_model.h>

#include <filesystem>
#include <vector>

namespace sluice {

std::uint64_t trace_bytes(const TrainContext& context) {
  return context.trace.empty() ? 0 : TraceWriter::kChargedBytes;
}

RunOptions kept_options(const std::string& directory,
                        const std::vector<std::string>& sets,
                        const TrainRegistry& registry) {
  RunDirectory::check(directory, RunDirectory::Mode::kGoOn);
  Config config =
      Config::load((std::filesystem::path(directory) / "config.resolved.toml").string());
  for (const std::string& assignment : sets) config.set(assignment);
  RunOptions options = resolve_options(config, registry);
  options.run.dir = directory;
  return options;
}

std::unique_ptr<Opened> open_run(const std::string& directory,
                                 const std::vector<std::string>& sets,
                                 const EvaluateOptions& wanted,
                                 const TrainContext& context,
                                 void (*check)(Parts&, Part),
                                 AskedFor asked) {
  auto opened =
      std::make_unique<Opened>(Opened{kept_options(directory, sets, context.registry), {}, {}});
  const std::filesystem::path checkpoint = stored_checkpoint(directory, wanted.checkpoint);
  opened->run = plan_run(opened->options,
                         {Work::Kind::kEvaluate, wanted.part, trace_bytes(context), asked},
                         context.log);
  Parts& parts = *opened->run.parts;
  check(parts, wanted.part);
  // As a best checkpoint is read: the weights alone, and no check that training could go on.
  opened->state = restore_checkpoint(checkpoint, CheckpointKind::kBest, parts);
  context.log.info("weights of {}, after epoch {}", checkpoint.string(), opened->state.epoch);
  return opened;
}

void ask_about_file(Parts& parts, const EvaluateOptions& wanted, AskedTargets targets) {
  if (wanted.events.empty()) return;
  const std::vector<IdColumn> ends = parts.task->prediction_ids();
  if (dynamic_cast<const PairTask*>(parts.task.get()) == nullptr || ends.size() != 2)
    throw Error(ErrorCode::kUsage,
                "this run's task asks about no events at times",
                "leave --events out, or choose a run of task 'temporal_link_prediction'");
  if (parts.state.any())
    throw Error(ErrorCode::kUsage,
                "this run's model remembers events, and would remember those of the file as others",
                "append them to the dataset and predict by --part, or choose a model without a "
                "memory");
  parts.asked_events = read_asked_events(
      wanted.events, parts.dataset, {ends[0].type, ends[1].type}, targets, parts.ledger.get());
}

}  // namespace sluice
