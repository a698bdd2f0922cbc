// `sluice-train continue`: from a run that is done to one over what was appended since.
#include "train/commands.h"
#include "train/continual.h"
#include "train/options.h"

#include <sluice/dataset.h>
#include <sluice/tasks/continual_task.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// How much there is is counted by [task], and weights are of [model] and rows of [embedding]; parts
// follow from them.
void check_sets(const std::vector<std::string>& sets) {
  for (const std::string& assignment : sets) {
    for (const std::string_view kept :
         {"task", "model", "continual", "embedding.dim", "embedding.types"}) {
      const std::string_view key = std::string_view(assignment).substr(0, assignment.find('='));
      if (key != kept && !(key.starts_with(kept) && key.substr(kept.size()).starts_with('.')))
        continue;
      throw Error(
          ErrorCode::kUsage,
          fmt::format("'{}' cannot be set: the run goes on with the task, the model and the "
                      "learned rows that it began with",
                      key),
          "leave it out, or begin a new run: sluice-train run CONFIG");
    }
  }
}

bool names_directory(const std::vector<std::string>& sets) {
  return std::ranges::any_of(sets,
                             [](const std::string& each) { return each.starts_with("run.dir"); });
}

// To replace the run that weights come from would lose them.
void check_other_directory(const std::string& from, const std::string& to) {
  std::error_code problem;  // what is not there is another
  if (!fs::equivalent(from, to, problem) || problem) return;
  throw Error(ErrorCode::kUsage,
              "the new run would replace the one that it goes on from",
              "leave run.dir out, or name another place: --set run.dir=DIR",
              Place{to, -1, -1, -1});
}

// "runs/mine", "runs/mine-2", "runs/mine-3".
std::string next_directory(const std::string& directory, std::size_t stage) {
  std::string path = fs::path(directory).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string own = fmt::format("-{}", stage);
  if (stage > 1 && path.ends_with(own)) path.resize(path.size() - own.size());
  return fmt::format("{}-{}", path, stage + 1);
}

std::uint64_t ids_of_run(const std::string& directory) {
  const fs::path checkpoint = stored_checkpoint(directory, CheckpointKind::kLast);
  const std::optional<std::uint64_t> ids = read_weights(checkpoint).num_ids;
  if (ids) return *ids;
  throw Error(
      ErrorCode::kUsage,
      "the run's checkpoint does not say how much data there was: an earlier version wrote it",
      "begin a run with continual.from and continual.since set: docs/continual.md",
      Place{checkpoint.string(), -1, -1, -1});
}

std::uint64_t ids_of_dataset(const RunOptions& options) {
  const Dataset dataset = Dataset::open(options.dataset.path);
  const auto task = options.registry->tasks.create(options.task, {dataset.schema()});
  return as_continual(options, *task).num_ids(dataset.schema());
}

}  // namespace

RunReport continue_training(const std::string& directory,
                            const std::vector<std::string>& sets,
                            RunDirectory::Mode mode,
                            const TrainContext& context) {
  RunDirectory::check(directory, RunDirectory::Mode::kGoOn);
  check_sets(sets);
  Config config = Config::load((fs::path(directory) / "config.resolved.toml").string());
  for (const std::string& assignment : sets) config.set(assignment);
  RunOptions options = resolve_options(config, context.registry);
  const std::uint64_t now = ids_of_dataset(options), before = ids_of_run(directory);
  if (now <= before)
    throw Error(ErrorCode::kUsage,
                fmt::format("nothing was appended since the run: {} edges or nodes were there, and "
                            "{} are",
                            before,
                            now),
                "append data first (sluice-prep append), or train for longer: sluice-train resume",
                Place{options.dataset.path, -1, -1, -1});
  ContinualSection& stages = options.continual;
  if (!names_directory(sets)) options.run.dir = next_directory(directory, stages.since.size() + 1);
  check_other_directory(directory, options.run.dir);
  stages.from = fs::absolute(directory).lexically_normal().string();
  stages.since.push_back(static_cast<std::int64_t>(before));
  return run_training(options, mode, context);
}

}  // namespace sluice
