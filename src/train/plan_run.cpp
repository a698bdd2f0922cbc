#include "train/plan_run.h"

#include "core/cgroup.h"
#include "storage/io/disk_cache.h"
#include "train/model_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
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

// Offsets, neighbours, and edge ids where there are any.
std::uint64_t topology_bytes(const GraphSchema& schema) {
  std::uint64_t sum = 0;
  for (const RelationSchema& relation : schema.relations) {
    const NodeTypeSchema* source = schema.node_type(relation.source);
    const NodeTypeSchema* target = schema.node_type(relation.target);
    const std::uint64_t width = source->count <= 0xffffffff ? 4 : 8;
    sum += relation.edges * width + (target->count + 1) * sizeof(std::uint64_t);
  }
  return sum;
}

struct Kept {
  Placement where;
  std::string why;
};

struct Choice {
  Kept features;
  Kept topology;
  bool in_turns = false;
  std::int64_t outputs = 0;  // PartsPlacement::outputs

  PartsPlacement placement() const { return {features.where, topology.where, in_turns, outputs}; }
};

// The placements to try of one kind of data, best first.
std::vector<Kept> placements(Keep asked, std::uint64_t bytes, std::uint64_t budget) {
  if (asked == Keep::kMemory) return {{Placement::kMemory, "asked for"}};
  if (asked == Keep::kDisk) return {{Placement::kDisk, "asked for"}};
  const std::string figures = fmt::format(
      "{} against half of the budget, {}", format_bytes(bytes), format_bytes(budget / 2));
  if (bytes > budget / 2) return {{Placement::kDisk, figures}};
  return {{Placement::kMemory, figures},
          {Placement::kDisk, "no room for it beside the rest of the run"}};
}

// Whether epochs are planned, so that sampling and steps can take turns in memory.
bool may_take_turns(const RunOptions& options, const RunDevice& device) {
  const StorageSection& storage = options.storage;
  return !device.device &&
         (storage.cache_kind()->wants_next_uses() || storage.plan == PlanChoice::kRepack);
}

// The placements to try, best first: rather features on disk than edges, as a row is read once for
// a mini-batch and edges are looked up for each node. Where nothing else works, sampling and steps
// take turns.
std::vector<Choice> choices(const RunOptions& options,
                            const RunDevice& device,
                            const GraphSchema& schema) {
  const std::uint64_t budget = options.memory.host.bytes;
  std::vector<Choice> all;
  for (const Kept& topology :
       placements(options.storage.topology, topology_bytes(schema), budget)) {
    for (const Kept& features : placements(options.storage.features, table_bytes(schema), budget))
      all.push_back({features, topology});
  }
  if (!may_take_turns(options, device)) return all;
  for (std::size_t i = 0, apart = all.size(); i < apart; ++i) {
    Choice choice = all[i];
    choice.in_turns = true;
    if (choice.features.where == Placement::kDisk) all.push_back(std::move(choice));
  }
  return all;
}

PlannedRun attempt(const RunOptions& options,
                   const Work& work,
                   const RunDevice& device,
                   const Choice& choice,
                   std::uint64_t limit) {
  PlannedRun run;
  auto ledger = std::make_shared<MemoryLedger>(limit, "[memory] host");
  run.parts = std::make_unique<Parts>(options, device, std::move(ledger), choice.placement());
  run.plan = split_budget(options.memory.host.bytes, measure_needs(*run.parts, work));
  run.plan.device_budget = device.ledger ? device.ledger->limit() : 0;
  run.plan.features = choice.features.where;
  run.plan.why = choice.features.why;
  run.plan.topology = choice.topology.where;
  run.plan.topology_why = choice.topology.why;
  run.work = work;
  return run;
}

// All that this machine grants a run.
std::uint64_t most_granted() {
  const std::uint64_t granted = memory_granted();
  return granted > kOverheadBytes ? granted - kOverheadBytes : granted;
}

// Measures within `limit` until a budget is found that works: read buffers grow with it a little,
// so the first guess may be short.
BudgetPlan find_least(const RunOptions& options,
                      const Work& work,
                      const RunDevice& device,
                      const Choice& choice,
                      std::uint64_t limit) {
  RunOptions roomy = options;
  for (;;) {
    BudgetPlan plan = attempt(roomy, work, device, choice, limit).plan;
    if (plan.fits()) return plan;
    roomy.memory.host.bytes = plan.least;
  }
}

// The placement that works with the least.
BudgetPlan find_least(const RunOptions& options,
                      const Work& work,
                      const RunDevice& device,
                      const std::vector<Choice>& all,
                      std::uint64_t limit) {
  std::optional<BudgetPlan> least;
  for (const Choice& choice : all) {
    try {
      BudgetPlan plan = find_least(options, work, device, choice, limit);
      if (!least || plan.budget < least->budget) least = std::move(plan);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource || (!least && &choice == &all.back())) throw;
    }
  }
  return *std::move(least);
}

// What reading is measured on.
std::filesystem::path largest_file(const std::filesystem::path& dataset) {
  std::filesystem::path largest = dataset;
  std::uintmax_t bytes = 0;
  std::error_code problem;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dataset, problem)) {
    if (!entry.is_regular_file(problem) || entry.file_size(problem) <= bytes) continue;
    bytes = entry.file_size(problem);
    largest = entry.path();
  }
  return largest;
}

// Tensors get what mini-batches in flight leave of the GPU's budget.
void fit_device(const RunDevice& device, const BudgetPlan& plan) {
  if (!device.device) return;
  if (plan.device_least() > plan.device_budget) {
    throw Error(ErrorCode::kResource,
                fmt::format("the run does not fit in [memory] gpu = {}; it needs\n{}",
                            format_bytes(plan.device_budget),
                            plan.device_table()),
                fmt::format("set [memory] gpu to at least \"{}\", or lower train.batch_size, "
                            "sampler.fanout or eval.batch_size",
                            format_bytes_exact(plan.device_least())));
  }
  const std::uint64_t in_flight = plan.device_lines.front().bytes;
  device.device->limit_tensors(plan.device_budget - in_flight).or_throw();
}

// A run, before anything of it is made.
struct Wanted {
  const RunOptions& options;
  const Work& work;
  const RunDevice& device;
  GraphSchema schema;
  std::vector<Choice> all;
  std::optional<ModelSize> size;  // of a model on the CPU, where it can be told
};

// Of a model too large to be tried: by a smaller one, within the budget and some of what the
// process may take beside it; where the rest of the run does not fit there either, within what is
// granted.
std::optional<BudgetPlan> estimate_least(const Wanted& run) {
  constexpr std::uint64_t kSmall = 32 * kMiB, kBeside = 128 * kMiB;
  const std::uint64_t budget = run.options.memory.host.bytes;
  const auto smaller =
      smaller_run(run.options, run.schema, run.work, *run.size, std::max(budget / 8, kSmall));
  if (!smaller) return std::nullopt;
  std::vector<Choice> all = run.all;
  for (Choice& choice : all) choice.outputs = smaller->outputs;
  const auto within = [&](std::uint64_t limit) {
    const BudgetPlan plan = find_least(smaller->options, run.work, run.device, all, limit);
    return scaled_up(plan, smaller->size, *run.size);
  };
  try {
    return within(budget + kBeside);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return within(most_granted());
  }
}

// Whether weights, optimiser state and outputs alone are too much to be made for measuring.
bool too_large_to_try(const Wanted& run) {
  constexpr std::uint64_t kTried = 64 * kMiB;
  return run.size && run.size->least() > std::max(run.options.memory.host.bytes / 4, kTried);
}

[[noreturn]] void refuse(const Wanted& run) {
  const std::string budget = format_bytes(run.options.memory.host.bytes);
  std::optional<BudgetPlan> plan;
  bool estimated = false;
  try {
    if (too_large_to_try(run)) plan = estimate_least(run);
    estimated = plan.has_value();
    if (!plan) plan = find_least(run.options, run.work, run.device, run.all, most_granted());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    const LargePart large = large_part(run.options, run.schema, run.work, {}, run.size);
    throw Error(ErrorCode::kResource,
                fmt::format("the run does not fit in [memory] host = {}, nor in what this machine "
                            "grants: {}{}",
                            budget,
                            error.message(),
                            large.what.empty() ? "" : "\n" + large.what),
                large.remedy + ", or use a machine with more memory");
  }
  const LargePart large = large_part(run.options, run.schema, run.work, *plan, run.size);
  const bool granted = plan->budget <= most_granted();
  throw Error(ErrorCode::kResource,
              fmt::format("the run does not fit in [memory] host = {}; it needs{}\n{}\n{}",
                          budget,
                          estimated ? " about" : "",
                          plan->table(),
                          large.what),
              fmt::format("set [memory] host to at least \"{}\"{}, or {}",
                          format_bytes_exact(plan->budget),
                          granted ? "" : " on a machine with more memory",
                          large.remedy));
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

void plan_epochs(PlannedRun& run, const std::filesystem::path& scratch, Logger& log) {
  Parts& parts = *run.parts;
  if (run.plan.features == Placement::kMemory) return;
  // Nothing runs yet: all that the run will take is free.
  DiskProbeOptions probe;
  probe.buffer_bytes =
      std::clamp(parts.ledger->available() / kMiB * kMiB, kMiB, probe.buffer_bytes);
  auto found = find_disk_profile(
      largest_file(parts.options.dataset.path), probe, parts.ledger.get(), default_disk_cache());
  std::shared_ptr<const DiskProfile> disk;
  if (found) {
    if (!found.value().warning.empty()) log.warn("{}", found.value().warning);
    disk = std::make_shared<const DiskProfile>(std::move(found).value().profile);
    log.info("disk: {}", disk->describe());
  } else {
    log.warn("the disk could not be measured, a typical one is assumed: {}",
             std::move(found).error().message());
  }
  parts.data.plan_epochs(scratch.string(), std::move(disk));
}

bool follow_dataset(PlannedRun& run) {
  Parts& parts = *run.parts;
  if (!parts.follow()) return false;
  BudgetPlan plan = split_budget(run.plan.budget, measure_needs(parts, run.work));
  if (!plan.fits()) {
    throw Error(ErrorCode::kResource,
                fmt::format("the dataset has grown, generation {} does not fit in [memory] host = "
                            "{} any more; it needs\n{}",
                            parts.dataset.generation(),
                            format_bytes(run.plan.budget),
                            plan.table()),
                fmt::format("go on with: sluice-train resume {} --set memory.host={}MiB",
                            parts.options.run.dir,
                            plan.least / kMiB),
                Place{parts.dataset.path(), -1, -1, -1});
  }
  run.plan.lines = std::move(plan.lines);
  run.plan.least = plan.least;
  run.plan.loader = plan.loader;
  return true;
}

PlannedRun plan_run(const RunOptions& options, const Work& work, Logger& log) {
  check_granted(options.memory.host.bytes);
  const RunDevice device = open_run_device(options, log);
  Wanted wanted{options, work, device, Dataset::open(options.dataset.path).schema(), {}, {}};
  wanted.all = choices(options, device, wanted.schema);
  if (!device.device) wanted.size = size_of_model(options, wanted.schema, work);
  if (wanted.size && wanted.size->least() > options.memory.host.bytes) refuse(wanted);
  for (const Choice& choice : wanted.all) {
    try {
      PlannedRun run = attempt(options, work, device, choice, options.memory.host.bytes);
      if (!run.plan.fits()) continue;
      fit_device(device, run.plan);
      const auto name = [](Placement where) {
        return where == Placement::kMemory ? "in memory" : "on disk";
      };
      log.info("features {}: {}", name(choice.features.where), choice.features.why);
      log.info("topology {}: {}", name(choice.topology.where), choice.topology.why);
      if (choice.in_turns)
        log.info("memory: sampling and steps take turns, there is no room for both at once");
      return run;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource || is_of_device_budget(error)) throw;
    }
  }
  refuse(wanted);
}

}  // namespace sluice
