#include "train/budget.h"

#include "core/batch_fields.h"
#include "train/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kProbed = 4;  // mini-batches sampled for measuring
constexpr std::uint64_t kProbedInTurns = 16;
constexpr std::uint64_t kOtherBytes = 2 * kMiB;

// What later mini-batches may be larger.
struct Margin {
  std::uint64_t percent = 25;

  std::uint64_t on(std::uint64_t bytes) const { return bytes + bytes * percent / 100; }
};

// Where every byte counts: as much as some of them differ, three to four deviations, beyond the
// largest of them.
Margin margin_in_turns(const LoaderProbe& probe) {
  constexpr std::uint64_t kLeast = 3;
  const Margin usual;
  const std::uint64_t largest = probe.block_bytes + probe.feature_bytes;
  if (probe.batches < kProbedInTurns || largest == 0) return usual;
  const std::uint64_t spread = (largest - probe.smallest_bytes) * 100 / largest + 1;
  return {std::clamp(spread, kLeast, usual.percent)};
}

std::uint64_t bytes_of(const NamedTensors& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += tensor.nbytes();
  return sum;
}

std::uint64_t feature_bytes(const Batch& batch) {
  std::uint64_t sum = 0;
  for_each_array(batch, [&](const Array& array, BatchPart part) {
    if (part == BatchPart::kFeatures) sum += array.bytes();
  });
  return sum;
}

// The largest mini-batch of a few, and the first of them whole.
struct Probed {
  LoaderProbe largest;
  std::shared_ptr<const Batch> first;
  std::uint64_t first_features = 0;

  // How much larger the largest batch is than the first, applied to what the first one took.
  std::uint64_t scaled(std::uint64_t bytes) const {
    if (first_features == 0 || largest.feature_bytes <= first_features) return bytes;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                      static_cast<double>(largest.feature_bytes) /
                                      static_cast<double>(first_features));
  }
};

// What is ground for the split.
struct Measured {
  Probed training;
  Probed evaluation;
  TrialPeaks peaks;
  Margin margin;

  std::uint64_t most(std::uint64_t LoaderProbe::*bytes) const {
    return std::max(training.largest.*bytes, evaluation.largest.*bytes);
  }
};

Probed probe(Loader& loader) {
  const Margin margin;
  Probed probed;
  probed.largest = loader.probe(kProbed);
  loader.set_memory(
      {margin.on(probed.largest.window_bytes), 1, margin.on(probed.largest.transfer_bytes)});
  loader.start({});
  probed.first = loader.next();
  loader.stop();
  if (probed.first) probed.first_features = feature_bytes(*probed.first);
  return probed;
}

Measured measure(Parts& parts, const Work& work) {
  Measured measured;
  if (work.kind == Work::Kind::kTrain) measured.training = probe(*parts.training_loader({}));
  if (parts.count(work.evaluated) > 0)
    measured.evaluation = probe(*parts.evaluation_loader(work.evaluated, {}));
  measured.peaks = try_steps(parts, measured.training.first.get(), measured.evaluation.first.get());
  return measured;
}

Probed probe_in_turns(Loader& loader) {
  Probed probed;
  probed.largest = loader.probe(kProbedInTurns);
  probed.first = loader.blank();
  probed.first_features = feature_bytes(*probed.first);
  return probed;
}

// As there is little room: one mini-batch at a time, and no rows read. Evaluation goes first,
// for the reason that try_steps() gives.
Measured measure_in_turns(Parts& parts, const Work& work) {
  const LoaderMemory memory{.in_turns = true};
  Measured measured;
  if (parts.count(work.evaluated) > 0) {
    measured.evaluation = probe_in_turns(*parts.evaluation_loader(work.evaluated, memory));
    measured.peaks = try_steps(parts, nullptr, measured.evaluation.first.get());
    measured.evaluation.first.reset();
  }
  if (work.kind == Work::Kind::kTrain) {
    measured.training = probe_in_turns(*parts.training_loader(memory));
    const TrialPeaks training = try_steps(parts, measured.training.first.get(), nullptr);
    measured.training.first.reset();
    measured.peaks.resident = training.resident;
    measured.peaks.training = training.training;
  }
  measured.margin.percent = 0;
  for (const Probed* probed : {&measured.training, &measured.evaluation}) {
    if (probed->largest.batches == 0) continue;
    measured.margin.percent =
        std::max(measured.margin.percent, margin_in_turns(probed->largest).percent);
  }
  return measured;
}

std::uint64_t sum_of(const std::vector<BudgetLine>& lines) {
  std::uint64_t sum = 0;
  for (const BudgetLine& line : lines) sum += line.bytes;
  return sum;
}

std::string table_of(const std::vector<BudgetLine>& lines, std::uint64_t budget) {
  std::size_t width = 5;
  for (const BudgetLine& line : lines) width = std::max(width, line.name.size());
  std::string text;
  for (const BudgetLine& line : lines) {
    text += fmt::format(
        "  {:<{}}  {:>12}  {}\n", line.name, width, format_bytes(line.bytes), line.note);
  }
  return text + fmt::format("  {:<{}}  {:>12}  of {}",
                            "total",
                            width,
                            format_bytes(sum_of(lines)),
                            format_bytes(budget));
}

void add_line(BudgetNeeds& needs, std::string name, std::uint64_t bytes, std::string note) {
  if (bytes != 0) needs.lines.push_back({std::move(name), bytes, std::move(note)});
}

void add_device_lines(BudgetNeeds& needs, const Measured& measured) {
  needs.device_lines.push_back({"mini-batches in flight",
                                LoaderMemory::kInFlight * needs.transfer_bytes,
                                "copied, ready, in step"});
  const std::uint64_t pool = measured.peaks.device_pool;
  if (pool == 0) return;
  needs.device_lines.push_back(
      {"tensors",
       measured.margin.on(pool),
       fmt::format("{} in a trial step, + {} %", format_bytes(pool), measured.margin.percent)});
}

// While mini-batches are sampled, and what stays of that beside steps.
void add_sampling_lines(BudgetNeeds& needs, const Measured& measured) {
  const LoaderProbe& training = measured.training.largest;
  const LoaderProbe& evaluation = measured.evaluation.largest;
  if (needs.in_turns) {
    needs.sampling_bytes = measured.margin.on(measured.most(&LoaderProbe::sampling_bytes));
    return add_line(needs,
                    "sampled before steps",
                    measured.margin.on(measured.most(&LoaderProbe::kept_bytes)),
                    "buffers and checksums of what an epoch keeps on disk");
  }
  add_line(needs,
           "sampler workspace",
           measured.margin.on(training.workspace_bytes + evaluation.workspace_bytes),
           "all data threads");
  add_line(needs,
           "sampled ahead",
           measured.most(&LoaderProbe::group) *
               measured.margin.on(measured.most(&LoaderProbe::sampled_bytes)),
           "mini-batches sampled at once");
}

void add_step_lines(BudgetNeeds& needs, const Measured& measured) {
  const TrialPeaks& peaks = measured.peaks;
  const std::uint64_t step = std::max(measured.training.scaled(peaks.training),
                                      measured.evaluation.scaled(peaks.evaluation));
  add_line(needs,
           "tensors of a step",
           measured.margin.on(step),
           fmt::format("{} in a trial step, + {} %", format_bytes(step), measured.margin.percent));
  const std::uint64_t batch = needs.block_bytes + needs.feature_bytes;
  if (needs.in_turns)
    add_line(needs, "mini-batch", batch, "in step");
  else
    add_line(needs, "mini-batches", 2 * batch, "in step, being assembled");
  needs.steps_bytes = measured.margin.on(step) + (needs.in_turns ? 1 : 2) * batch;
  // A block may be an eighth larger than what is asked for (MemoryLedger::block_bytes), and a
  // mini-batch that is hardly larger than those measured may need the next size.
  constexpr std::uint64_t kEighth = 13;  // percent
  const std::uint64_t percent = measured.margin.percent;
  if (needs.in_turns && percent < kEighth)
    needs.rounding_bytes = needs.steps_bytes / (100 + percent) * (kEighth - percent);
}

}  // namespace

BudgetNeeds measure_needs(Parts& parts, const Work& work) {
  BudgetNeeds needs;
  needs.in_turns = parts.placement.in_turns;
  // A snapshot cache of edges is made by the first loader that draws from it.
  if (work.kind == Work::Kind::kTrain) (void)parts.training_loader({});
  for (const MemoryLedger::Entry& entry : parts.ledger->entries()) {
    if (entry.name != "tensors") add_line(needs, entry.name, entry.bytes, "loaded");
  }
  const std::uint64_t loaded = sum_of(needs.lines);
  const Measured measured = needs.in_turns ? measure_in_turns(parts, work) : measure(parts, work);
  const Margin margin = measured.margin;
  needs.transfer_bytes = margin.on(measured.most(&LoaderProbe::transfer_bytes));
  if (parts.device.device) add_device_lines(needs, measured);
  needs.block_bytes = margin.on(measured.most(&LoaderProbe::block_bytes));
  // On their way to a GPU features are in the slabs.
  if (needs.transfer_bytes == 0)
    needs.feature_bytes = margin.on(measured.most(&LoaderProbe::feature_bytes));
  needs.window_bytes = margin.on(measured.most(&LoaderProbe::window_bytes));

  add_sampling_lines(needs, measured);
  add_line(needs, "model and optimizer", measured.peaks.resident, "weights and optimiser state");
  add_line(needs, "best weights", bytes_of(parts.weights()), "a copy of the weights");
  add_step_lines(needs, measured);
  add_line(needs,
           "transfer slabs",
           LoaderMemory::kInFlight * needs.transfer_bytes,
           "pinned, mini-batches on their way to the GPU");
  add_line(needs, "trace", work.trace_bytes, "its buffer");
  add_line(needs, "other", kOtherBytes, "file buffers, predictions");
  // While a step of training is tried, its weights and state are there twice.
  const std::uint64_t copied = work.kind == Work::Kind::kTrain ? measured.peaks.resident : 0;
  needs.measuring_bytes = loaded + measured.peaks.resident + copied +
                          std::max(measured.peaks.training, measured.peaks.evaluation) +
                          needs.block_bytes + needs.feature_bytes;
  return needs;
}

BudgetPlan split_budget(std::uint64_t budget, const BudgetNeeds& needs) {
  BudgetPlan plan;
  plan.budget = budget;
  plan.lines = needs.lines;
  plan.device_lines = needs.device_lines;
  const std::uint64_t fixed = sum_of(needs.lines);
  // In turns sampling has what steps and windows take; what it takes beyond that windows get too.
  const std::uint64_t sampling =
      needs.sampling_bytes - std::min(needs.sampling_bytes, needs.steps_bytes);
  const std::uint64_t windows = std::max(needs.window_bytes, sampling);
  const std::uint64_t copies =
      needs.measuring_bytes - std::min(needs.measuring_bytes, fixed + windows);
  plan.least = (fixed + windows + copies + kMiB - 1) / kMiB * kMiB;
  plan.loader.in_turns = needs.in_turns;
  if (!plan.fits()) {
    plan.lines.push_back({"windows", windows, "the least"});
    if (copies != 0) plan.lines.push_back({kWhileMeasured, copies, "copies of weights and state"});
    return plan;
  }
  const std::uint64_t rest = budget - fixed;
  const std::uint64_t batch = needs.block_bytes + needs.feature_bytes;
  // Batches may wait where there is room: it evens out steps of different length.
  std::uint64_t waiting = std::min(4 * batch, (rest - windows) / 6);
  if (waiting < batch || needs.transfer_bytes != 0 || needs.in_turns) waiting = 0;
  const std::uint64_t rounding = std::min(needs.rounding_bytes, rest - windows);
  plan.loader.window_bytes = rest - waiting - rounding;
  plan.loader.transfer_bytes = needs.transfer_bytes;
  // The queue counts features only; the blocks ride along.
  plan.loader.queue_bytes =
      batch == 0 ? 1
                 : static_cast<std::uint64_t>(static_cast<double>(waiting) *
                                              static_cast<double>(needs.feature_bytes) /
                                              static_cast<double>(batch));
  if (waiting != 0) plan.lines.push_back({"queue", waiting, "mini-batches waiting"});
  if (rounding != 0)
    plan.lines.push_back({"block sizes", rounding, "blocks may be larger than asked for"});
  plan.lines.push_back(
      {"windows",
       plan.loader.window_bytes,
       needs.in_turns ? "the rest; before steps sampling has theirs and this" : "the rest"});
  return plan;
}

std::uint64_t BudgetPlan::device_least() const {
  return (sum_of(device_lines) + kMiB - 1) / kMiB * kMiB;
}

std::string BudgetPlan::table() const {
  return table_of(lines, budget);
}

std::string BudgetPlan::device_table() const {
  return table_of(device_lines, device_budget);
}

}  // namespace sluice
