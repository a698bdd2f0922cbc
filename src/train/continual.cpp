#include "train/continual.h"

#include "core/interrupt.h"
#include "samplers/replay_buffer.h"
#include "samplers/replay_queries.h"
#include "samplers/temporal_sampler.h"
#include "storage/io/file.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_replay(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "[replay] " + message, hint);
}

void check_replay(const Parts& parts) {
  if (parts.state.any())
    refuse_replay(fmt::format("mixes old events among new ones, and model '{}' remembers events in "
                              "the order of time",
                              parts.options.model.type),
                  "set replay.choose = \"none\", or choose a model without a memory");
  if (parts.sampler->visibility() == to_string(TemporalVisibility::kBatchLag))
    refuse_replay(
        "has mini-batches of events of all times, and with visibility \"batch_lag\" they "
        "would see what was before the first of them alone",
        "set sampler.visibility = \"strict\" or \"event_order\"");
}

// Checkpoints to come name what is copied here, and make only what they change durable.
void copy_rows(const fs::path& from, const fs::path& to) {
  std::error_code problem;
  fs::remove_all(to, problem);
  if (!problem) fs::copy(from, to, fs::copy_options::recursive, problem);
  if (problem) throw system_error(problem.value(), "cannot copy learned rows", from);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(to)) {
    throw_if_interrupted();
    if (entry.is_directory())
      sync_directory(entry.path()).or_throw();
    else
      File::open_read(entry.path()).or_throw().sync().or_throw();
  }
  sync_directory(to).or_throw();
}

}  // namespace

void divide_task(const RunOptions& options, Task& task) {
  const std::vector<std::uint64_t> since = options.continual.stages();
  if (since.empty()) {
    if (options.replay.choose == ReplayRule::kNone) return;
    refuse_replay("is of a run that goes on from another, and this one is about all data",
                  "set replay.choose = \"none\", or go on from a run: sluice-train continue DIR");
  }
  as_continual(options, task).divide({since, options.continual.shares});
}

ContinualTask& as_continual(const RunOptions& options, Task& task) {
  if (auto* const continual = dynamic_cast<ContinualTask*>(&task)) return *continual;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("task '{}' cannot tell what was appended from what was there", options.task.type),
      "go on over all data: sluice-train resume DIR --set dataset.follow=true");
}

void check_continual(const Parts& parts) {
  if (parts.options.continual.from.empty()) return;
  if (!parts.tables.any_learned() || !parts.state.any()) return;
  throw Error(ErrorCode::kUsage,
              "a run of learned rows and a model that remembers nodes cannot go on from another",
              "begin a new run: sluice-train run CONFIG, with embedding.dim = 0 or a model without "
              "a memory if it is to be gone on from");
}

ContinualTask& continual_task(const Parts& parts) {
  return dynamic_cast<ContinualTask&>(*parts.task);
}

std::unique_ptr<QuerySource> with_replay(Parts& parts,
                                         const QueryRequest& request,
                                         std::unique_ptr<QuerySource> fresh) {
  const ReplaySection& asked = parts.options.replay;
  if (asked.choose == ReplayRule::kNone) return fresh;
  check_replay(parts);
  const ContinualTask& task = continual_task(parts);
  if (!parts.replay)
    parts.replay = task.make_buffer(
        {asked.choose, static_cast<std::uint64_t>(asked.size), parts.key().with("replay")},
        parts.data);
  if (parts.replay->queries().empty())
    refuse_replay("has nothing to ask again: training has asked about nothing so far",
                  "set replay.choose = \"none\"");
  auto old = task.replayed(request, parts.data, parts.replay, fresh->num_batches());
  return std::make_unique<ReplayMix>(std::move(old), std::move(fresh));
}

double share_of_old(const Parts& parts) {
  if (!parts.replay) return 0;
  const double old = parts.options.replay.weight * static_cast<double>(parts.replay->old_queries());
  return old / (old + static_cast<double>(parts.count(Part::kTrain)));
}

void start_from(Parts& parts, const fs::path& rows) {
  const std::string& from = parts.options.continual.from;
  if (from.empty()) return parts.tables.open(rows, {});
  const fs::path checkpoint = stored_checkpoint(from, CheckpointKind::kBest);
  const RowGenerations stored = take_weights(checkpoint, parts);
  if (!parts.tables.any_learned()) return parts.tables.open(rows, {});
  copy_rows(rows_folder(checkpoint), rows);
  parts.tables.open(rows, stored);
}

ContinualReport begin_continual(const Parts& parts) {
  ContinualReport report;
  report.from = parts.options.continual.from;
  report.stage = parts.options.continual.since.size() + 1;
  if (!parts.replay) return report;
  const ReplayBuffer& buffer = *parts.replay;
  report.replay =
      ReplayReport{parts.options.replay.choose == ReplayRule::kStructure ? "structure" : "uniform",
                   buffer.nodes().size(),
                   buffer.old_nodes(),
                   buffer.queries().size(),
                   buffer.old_queries(),
                   share_of_old(parts)};
  return report;
}

void say_continual(const Parts& parts, Logger& log) {
  if (!parts.options.continual.any()) return;
  std::string told = to_text(begin_continual(parts));
  told.pop_back();  // the last line's end
  log.info("what was appended is trained on\n{}", told);
  if (parts.state.any() && parts.options.continual.since.size() > 1)
    log.warn(
        "forgetting is not measured: a model that remembers nodes sees events in the order of "
        "time, and old test events are before old training events of a later stage");
}

}  // namespace sluice
