#include "train/plan_run.h"

#include "core/cgroup.h"
#include "pipeline/data/graph_data_state.h"
#include "train/cached_tables.h"
#include "train/model_size.h"
#include "train/model_wants.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

struct Choice {
  PlaceChoice at;
  std::int64_t outputs = 0;     // PartsPlacement::outputs
  bool rows_on_device = false;  // PartsPlacement::rows_on_device

  PartsPlacement placement() const {
    PartsPlacement kept{at.places.features.where,
                        at.places.topology.where,
                        at.places.embeddings.where,
                        rows_on_device,
                        at.phases,
                        outputs};
    kept.relations = at.places.relations;
    return kept;
  }
};

std::vector<Choice> choices(const RunOptions& options,
                            const RunDevice& device,
                            const GraphSchema& schema) {
  const bool planned = !device.device && epochs_may_be_planned(options.storage);
  const Turns turns = planned ? Turns::kMay : Turns::kNever;
  const std::uint64_t learned = learned_bytes(options, schema);
  const ModelWants wants = wants_of_model(options, schema);
  const std::uint64_t rows = learned + state_bytes(schema, wants.state_columns);
  const bool may_be_on_device = learned != 0 && device.ledger && learned < device.ledger->limit();
  std::vector<Choice> all;
  for (PlaceChoice& at : place_choices(options.storage,
                                       schema,
                                       wants.features,
                                       options.memory.host.bytes,
                                       turns,
                                       options.storage.embeddings,
                                       rows)) {
    if (may_be_on_device && at.places.embeddings.where == Placement::kMemory)
      all.push_back({at, 0, true});
    all.push_back({std::move(at)});
  }
  return all;
}

struct Attempt {
  PlannedRun run;
  MemoryNeeds needs;
};

Attempt attempt(const RunOptions& options,
                const Work& work,
                const RunDevice& device,
                const Choice& choice,
                std::uint64_t limit) {
  auto ledger = std::make_shared<MemoryLedger>(limit, "[memory] host");
  PartsPlacement placement = choice.placement();
  if (work.kind == Work::Kind::kTrain) placement.rows = options.embedding.mode;
  placement.asked = work.asked;
  auto parts = std::make_unique<Parts>(options, device, std::move(ledger), placement);
  if (placement.rows == RowsMode::kPartitions) check_partition_mode(*parts);
  MemoryNeeds needs = measure_needs(*parts, work);
  MemoryPlan plan =
      plan_memory(needs, options.memory.host.bytes, device.ledger ? device.ledger->limit() : 0);
  return {{std::move(parts), choice.at.places, std::move(plan), work}, std::move(needs)};
}

// All that this machine grants a run.
std::uint64_t most_granted() {
  const std::uint64_t granted = memory_granted();
  return granted > kOverheadBytes ? granted - kOverheadBytes : granted;
}

// A plan that fits, and what it is made of.
struct Least {
  MemoryNeeds needs;
  MemoryPlan plan;
};

// Whether a run's parts can be opened and measured, and uses counted, within its own budget. A plan
// is of what stays: while it is opened, a part may take more, and so may lists that grow.
bool opens_within_budget(const RunOptions& options,
                         const Work& work,
                         const RunDevice& device,
                         const Choice& choice) {
  try {
    const Attempt tried = attempt(options, work, device, choice, options.memory.host.bytes);
    if (!tried.run.plan.fits()) return false;
    if (tried.needs.counted == 0) return true;
    // By any disk: only what it takes is asked.
    Parts& parts = *tried.run.parts;
    (void)measure_caches(parts, tried.needs, *parts.data.state().disk, TableAccess::kRead);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return false;
  }
}

// A step up from a budget that did not do: whole MiB.
std::uint64_t stepped_up(std::uint64_t budget) {
  return (budget + std::max(budget / 16, kMiB) + kMiB - 1) / kMiB * kMiB;
}

// Measures within `limit` until a budget is found that works: read buffers grow with it a little,
// so the first guess may be short. What is told is tried.
Least find_least(const RunOptions& options,
                 const Work& work,
                 const RunDevice& device,
                 const Choice& choice,
                 std::uint64_t limit) {
  RunOptions roomy = options;
  for (;;) {
    std::uint64_t& budget = roomy.memory.host.bytes;
    Least found;
    {
      Attempt tried = attempt(roomy, work, device, choice, limit);
      found = {std::move(tried.needs), std::move(tried.run.plan)};
    }  // not beside the next
    if (!found.plan.fits()) {
      budget = found.plan.least;
    } else if (budget >= limit || opens_within_budget(roomy, work, device, choice)) {
      return found;
    } else {
      budget = std::min(limit, stepped_up(budget));
    }
  }
}

// Whether the run is to be tried another way: a step that wants all learned rows does not work with
// these on disk, and may with these in memory. What else is wrong is wrong there too.
bool wants_rows_in_memory(const Error& error,
                          const Choice& choice,
                          const std::vector<Choice>& all) {
  return error.code() == ErrorCode::kUsage &&
         choice.at.places.embeddings.where == Placement::kDisk &&
         std::ranges::any_of(all, [](const Choice& other) {
           return other.at.places.embeddings.where == Placement::kMemory;
         });
}

// The placement that works with the least.
Least find_least(const RunOptions& options,
                 const Work& work,
                 const RunDevice& device,
                 const std::vector<Choice>& all,
                 std::uint64_t limit) {
  std::optional<Least> least;
  std::optional<Error> why;
  for (const Choice& choice : all) {
    if (choice.rows_on_device) continue;  // of the host's memory it takes what the one behind does
    try {
      Least found = find_least(options, work, device, choice, limit);
      if (!least || found.plan.budget < least->plan.budget) least = std::move(found);
    } catch (const Error& error) {
      if (wants_rows_in_memory(error, choice, all)) continue;
      if (error.code() != ErrorCode::kResource) throw;
      why = error;
    }
  }
  if (!least) throw Error(*why);  // one of them has rows in memory, and failed
  return *std::move(least);
}

// Tensors get what mini-batches in flight leave of the GPU's budget.
void fit_device(const RunDevice& device, const MemoryPlan& plan) {
  if (!device.device) return;
  if (!plan.device.fits()) {
    throw Error(ErrorCode::kResource,
                fmt::format("the run does not fit in [memory] gpu = {}; it needs\n{}",
                            format_bytes(plan.device.budget),
                            plan.device.table()),
                fmt::format("set [memory] gpu to at least \"{}\", or lower train.batch_size, "
                            "sampler.fanout or eval.batch_size",
                            format_bytes_exact(plan.device.least)));
  }
  device.device->limit_tensors(plan.device.budget - plan.device_in_flight).or_throw();
}

// Sizes the caches of learned rows. Where these share with features by how often rows are used,
// that is counted now, as it is known where all of them are: the budget that is needed stays the
// same.
void size_caches(PlannedRun& run, MemoryNeeds needs, Logger& log) {
  RowTables& tables = run.parts->tables;
  if (needs.counted != 0) {
    Parts& parts = *run.parts;
    const auto found = disk_of(run, log);
    const DiskProfile& measured = found ? *found : *parts.data.state().disk;
    const bool trains = run.work.kind == Work::Kind::kTrain;
    needs.caches =
        measure_caches(parts, needs, measured, trains ? TableAccess::kWrite : TableAccess::kRead);
    run.plan = plan_memory(needs, run.plan.budget, run.plan.device.budget);
  }
  tables.share_cache(run.plan.learned_cache, run.plan.learned_window, run.plan.learned_shares);
  if (needs.counted == 0) return;
  // Of learned rows alone: features have none yet.
  for (const TableCache& cache : table_caches(*run.parts))
    log.info("cache of {} '{}': {} of {} rows, {}, by what they save",
             cache.of,
             cache.table,
             format_count(cache.slots),
             format_count(cache.rows),
             format_bytes(cache.bytes));
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
std::optional<MemoryPlan> estimate_least(const Wanted& run) {
  constexpr std::uint64_t kSmall = 32 * kMiB, kBeside = 128 * kMiB;
  const std::uint64_t budget = run.options.memory.host.bytes;
  const auto smaller =
      smaller_run(run.options, run.schema, run.work, *run.size, std::max(budget / 8, kSmall));
  if (!smaller) return std::nullopt;
  std::vector<Choice> all = run.all;
  for (Choice& choice : all) choice.outputs = smaller->outputs;
  const auto within = [&](std::uint64_t limit) {
    Least least = find_least(smaller->options, run.work, run.device, all, limit);
    return scaled_up(std::move(least.needs), least.plan, smaller->size, *run.size);
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
  std::optional<MemoryPlan> plan;
  bool estimated = false;
  try {
    if (too_large_to_try(run)) plan = estimate_least(run);
    estimated = plan.has_value();
    if (!plan) plan = find_least(run.options, run.work, run.device, run.all, most_granted()).plan;
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

std::shared_ptr<const DiskProfile> disk_of(PlannedRun& run, Logger& log) {
  if (!run.disk) {
    const Parts& parts = *run.parts;
    run.disk = measure_dataset_disk(parts.options.dataset.path, parts.ledger.get());
    for (const std::string& warning : run.disk->warnings) log.warn("{}", warning);
  }
  return run.disk->profile;
}

void plan_epochs(PlannedRun& run, const std::filesystem::path& scratch, Logger& log) {
  Parts& parts = *run.parts;
  if (parts.placement.features == Placement::kMemory) return;
  // Nothing runs yet: all that the run will take is free.
  std::shared_ptr<const DiskProfile> disk = disk_of(run, log);
  if (disk) log.info("disk: {}", disk->describe());
  parts.data.plan_epochs(scratch.string(), std::move(disk));
}

void sort_links(PlannedRun& run, const std::filesystem::path& scratch, Logger& log) {
  Parts& parts = *run.parts;
  if (parts.placement.rows != RowsMode::kPartitions) return;
  parts.partitions = std::make_unique<PartitionMode>(parts, scratch);
  log.info("partitions: {}", parts.partitions->told());
  log.warn(
      "approximate: partition mode. Links are trained bucket by bucket beside nodes of resident "
      "partitions{}; evaluation is exact",
      parts.model->num_layers() == 0 ? "" : ", and neighbours are drawn among these");
}

bool follow_dataset(PlannedRun& run, Logger& log) {
  Parts& parts = *run.parts;
  if (!parts.follow()) return false;
  MemoryNeeds needs = measure_needs(parts, run.work);
  MemoryPlan plan = plan_memory(needs, run.plan.budget, run.plan.device.budget);
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
  fit_device(parts.device, plan);  // rows that are kept on a GPU have grown too
  run.plan = std::move(plan);
  size_caches(run, std::move(needs), log);
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
      auto [run, needs] = attempt(options, work, device, choice, options.memory.host.bytes);
      if (!run.plan.fits()) continue;
      if (choice.rows_on_device && !run.plan.device.fits()) continue;
      fit_device(device, run.plan);
      const auto name = [](Placement where) {
        return where == Placement::kMemory ? "in memory" : "on disk";
      };
      const auto& [features, topology, embeddings, relations] = run.places;
      log.info("features {}: {}", name(features.where), features.why);
      log.info("topology {}: {}",
               relations.empty() ? name(topology.where) : "in part on disk",
               topology.why);
      if (run.parts->tables.any())
        log.info("{} {}: {}{}",
                 run.parts->tables.any_learned() ? "learned rows" : "rows of state",
                 name(embeddings.where),
                 embeddings.why,
                 choice.rows_on_device ? "; kept on the GPU between steps" : "");
      if (!choice.at.phases.told().empty()) log.info("memory: {}", choice.at.phases.told());
      size_caches(run, std::move(needs), log);
      return std::move(run);
    } catch (const Error& error) {
      if (wants_rows_in_memory(error, choice, wanted.all)) continue;
      if (error.code() != ErrorCode::kResource) throw;
      if (is_of_device_budget(error) && !choice.rows_on_device) throw;
    }
  }
  refuse(wanted);
}

}  // namespace sluice
