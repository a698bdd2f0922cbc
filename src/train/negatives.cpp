#include "train/negatives.h"

#include "core/threads.h"
#include "storage/format/staging.h"
#include "tasks/temporal_link_prediction.h"
#include "train/plan_run.h"

#include <sluice/dataset.h>
#include <sluice/memory.h>
#include <sluice/random.h>

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <system_error>

namespace sluice {
namespace {

void refuse_existing(const std::filesystem::path& out) {
  std::error_code problem;
  if (!std::filesystem::exists(out, problem)) return;
  throw Error(ErrorCode::kUsage,
              "the output already exists",
              "choose another --out, or remove it",
              Place{out.string(), -1, -1, -1});
}

}  // namespace

NegativesReport write_negatives(const RunOptions& options,
                                const std::string& created_by,
                                const std::filesystem::path& out,
                                const TrainContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  refuse_existing(out);
  const std::uint64_t budget = options.memory.host.bytes;
  check_granted(budget);
  const auto ledger = std::make_shared<MemoryLedger>(budget, "[memory] host");
  const Dataset dataset =
      Dataset::open(options.dataset.path, {ledger.get(), options.storage.verify});
  const RandomKey key(options.seed);
  const auto task =
      options.registry->tasks.create(options.task, {dataset.schema(), key.with("task")});
  auto* const events = dynamic_cast<tasks::TemporalLinkPrediction*>(task.get());
  if (events == nullptr)
    throw Error(ErrorCode::kUsage,
                fmt::format("task '{}' ranks no events in time", options.task.type),
                "name a config whose task.type is \"temporal_link_prediction\"");
  task->open({dataset, options.dataset.split, key});
  StagingDirectory folder(out, Overwrite::kRefuse);
  for (const std::string& leftover : folder.swept())
    context.log.warn("removed what an interrupted run had left: {}", leftover);
  ThreadArena arena(options.train.data_threads);
  const auto lists = events->write_lists(folder.path(), created_by, arena, ledger.get());
  folder.commit();
  return {out.string(),
          lists.valid,
          lists.test,
          lists.columns,
          lists.bytes,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

}  // namespace sluice
