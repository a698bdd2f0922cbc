#include "train/plan_run.h"

#include "core/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

std::uint64_t table_bytes(const GraphSchema& schema) {
  std::uint64_t sum = 0;
  for (const NodeTypeSchema& node : schema.nodes) {
    if (!node.features.empty())
      sum +=
          node.features[0].rows * feature_row_bytes(node.features[0].dtype, node.features[0].dim);
  }
  return sum;
}

struct Choice {
  Placement features;
  std::string why;
};

// The placements to try, best first.
std::vector<Choice> choices(const RunOptions& options) {
  if (options.storage.features == Keep::kMemory) return {{Placement::kMemory, "asked for"}};
  if (options.storage.features == Keep::kDisk) return {{Placement::kDisk, "asked for"}};
  const std::uint64_t table = table_bytes(Dataset::open(options.dataset.path).schema());
  const std::uint64_t half = options.memory.host.bytes / 2;
  const std::string figures = fmt::format(
      "{} of features against half of the budget, {}", format_bytes(table), format_bytes(half));
  if (table > half) return {{Placement::kDisk, figures}};
  return {{Placement::kMemory, figures},
          {Placement::kDisk, "no room for them beside the rest of the run"}};
}

PlannedRun attempt(const RunOptions& options,
                   const Work& work,
                   const Choice& choice,
                   std::uint64_t limit) {
  PlannedRun run;
  auto ledger = std::make_shared<MemoryLedger>(limit, "[memory] host");
  run.parts = std::make_unique<Parts>(options, std::move(ledger), choice.features);
  run.plan = split_budget(options.memory.host.bytes, measure_needs(*run.parts, work));
  run.plan.features = choice.features;
  run.plan.why = choice.why;
  return run;
}

// Measures with all that this machine grants until a budget is found that works: read buffers grow
// with it a little, so the first guess may be short.
BudgetPlan find_least(const RunOptions& options, const Work& work, const Choice& choice) {
  const std::uint64_t granted = memory_granted();
  const std::uint64_t limit = granted > kOverheadBytes ? granted - kOverheadBytes : granted;
  RunOptions roomy = options;
  for (;;) {
    BudgetPlan plan = attempt(roomy, work, choice, limit).plan;
    if (plan.fits()) return plan;
    roomy.memory.host.bytes = plan.least;
  }
}

// The placement that works with the least.
BudgetPlan find_least(const RunOptions& options, const Work& work, const std::vector<Choice>& all) {
  std::optional<BudgetPlan> least;
  for (const Choice& choice : all) {
    try {
      BudgetPlan plan = find_least(options, work, choice);
      if (!least || plan.budget < least->budget) least = std::move(plan);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource || (!least && &choice == &all.back())) throw;
    }
  }
  return *std::move(least);
}

[[noreturn]] void refuse(const RunOptions& options,
                         const Work& work,
                         const std::vector<Choice>& all) {
  const std::string budget = format_bytes(options.memory.host.bytes);
  const std::string knobs = "lower train.batch_size, sampler.fanout or eval.batch_size";
  BudgetPlan plan;
  try {
    plan = find_least(options, work, all);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    throw Error(ErrorCode::kResource,
                fmt::format("the run does not fit in [memory] host = {}, nor in what this machine "
                            "grants: {}",
                            budget,
                            error.message()),
                knobs + ", or use a machine with more memory");
  }
  throw Error(
      ErrorCode::kResource,
      fmt::format("the run does not fit in [memory] host = {}; it needs\n{}", budget, plan.table()),
      fmt::format(
          "set [memory] host to at least \"{}\", or {}", format_bytes_exact(plan.budget), knobs));
}

}  // namespace

void check_granted(std::uint64_t budget, const std::filesystem::path& root) {
  const std::uint64_t granted = memory_granted(root);
  if (granted == 0 || budget <= granted - std::min(granted, kOverheadBytes)) return;
  const CgroupMemory cgroup = read_cgroup_memory(root);
  const std::string by =
      cgroup.limit == granted ? "its memory cgroup, " + cgroup.path : "physical memory";
  const std::uint64_t most = granted - std::min(granted, kOverheadBytes);
  throw Error(ErrorCode::kResource,
              fmt::format("[memory] host = {} and {} for code and libraries are more than the {} "
                          "this process may use "
                          "(by {})",
                          format_bytes(budget),
                          format_bytes(kOverheadBytes),
                          format_bytes(granted),
                          by),
              most / kMiB == 0
                  ? "run it where more memory is granted"
                  : fmt::format("set [memory] host to at most \"{}MiB\"", most / kMiB));
}

PlannedRun plan_run(const RunOptions& options, const Work& work, Logger& log) {
  check_granted(options.memory.host.bytes);
  const std::vector<Choice> all = choices(options);
  for (const Choice& choice : all) {
    try {
      PlannedRun run = attempt(options, work, choice, options.memory.host.bytes);
      if (!run.plan.fits()) continue;
      log.info("features {}: {}",
               choice.features == Placement::kMemory ? "in memory" : "on disk",
               choice.why);
      return run;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
    }
  }
  refuse(options, work, all);
}

}  // namespace sluice
