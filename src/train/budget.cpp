#include "train/budget.h"

#include "train/trial.h"
#include "train/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kProbed = 4;          // mini-batches sampled for measuring
constexpr std::uint64_t kMarginPercent = 25;  // later mini-batches may be larger
constexpr std::uint64_t kOtherBytes = 2 * kMiB;

std::uint64_t with_margin(std::uint64_t bytes) {
  return bytes + bytes * kMarginPercent / 100;
}

std::uint64_t bytes_of(const NamedTensors& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += tensor.nbytes();
  return sum;
}

std::uint64_t feature_bytes(const Batch& batch) {
  std::uint64_t sum = 0;
  for (const BatchNodes& nodes : batch.nodes) sum += nodes.features.bytes();
  return sum;
}

// The largest mini-batch of a few, and the first of them whole.
struct Probed {
  LoaderProbe largest;
  std::shared_ptr<const Batch> first;

  // How much larger the largest batch is than the first, applied to what the first one took.
  std::uint64_t scaled(std::uint64_t bytes) const {
    const std::uint64_t own = first ? feature_bytes(*first) : 0;
    if (own == 0 || largest.feature_bytes <= own) return bytes;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                      static_cast<double>(largest.feature_bytes) /
                                      static_cast<double>(own));
  }
  std::uint64_t window_bytes() const { return with_margin(largest.window_bytes); }
  std::uint64_t transfer_bytes() const { return with_margin(largest.transfer_bytes); }
};

Probed probe(Loader& loader) {
  Probed probed;
  probed.largest = loader.probe(kProbed);
  loader.set_memory({probed.window_bytes(), 1, probed.transfer_bytes()});
  loader.start({});
  probed.first = loader.next();
  loader.stop();
  return probed;
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

void add_device_lines(BudgetNeeds& needs, const TrialPeaks& peaks) {
  needs.device_lines.push_back({"mini-batches in flight",
                                LoaderMemory::kInFlight * needs.transfer_bytes,
                                "copied, ready, in step"});
  if (peaks.device_pool == 0) return;
  needs.device_lines.push_back(
      {"tensors",
       with_margin(peaks.device_pool),
       fmt::format("{} in a trial step, + {} %", format_bytes(peaks.device_pool), kMarginPercent)});
}

}  // namespace

BudgetNeeds measure_needs(Parts& parts, const Work& work) {
  BudgetNeeds needs;
  // A snapshot cache of edges is made by the first loader that draws from it.
  if (work.kind == Work::Kind::kTrain) (void)parts.training_loader({});
  for (const MemoryLedger::Entry& entry : parts.ledger->entries()) {
    if (entry.name != "tensors") add_line(needs, entry.name, entry.bytes, "loaded");
  }
  Probed training;
  Probed evaluation;
  if (work.kind == Work::Kind::kTrain) training = probe(*parts.training_loader({}));
  if (parts.count(work.evaluated) > 0)
    evaluation = probe(*parts.evaluation_loader(work.evaluated, {}));
  needs.transfer_bytes = std::max(training.transfer_bytes(), evaluation.transfer_bytes());
  const TrialPeaks peaks = try_steps(parts, training.first.get(), evaluation.first.get());
  if (parts.device.device) add_device_lines(needs, peaks);

  const std::uint64_t step =
      std::max(training.scaled(peaks.training), evaluation.scaled(peaks.evaluation));
  needs.block_bytes =
      with_margin(std::max(training.largest.block_bytes, evaluation.largest.block_bytes));
  // On their way to a card features are in the slabs.
  if (needs.transfer_bytes == 0)
    needs.feature_bytes =
        with_margin(std::max(training.largest.feature_bytes, evaluation.largest.feature_bytes));
  needs.window_bytes = std::max(training.window_bytes(), evaluation.window_bytes());
  const std::uint64_t group = std::max(training.largest.group, evaluation.largest.group);

  add_line(needs,
           "sampler workspace",
           with_margin(training.largest.workspace_bytes + evaluation.largest.workspace_bytes),
           "all data threads");
  add_line(needs, "sampled ahead", group * needs.block_bytes, "mini-batches sampled at once");
  add_line(needs, "model and optimizer", peaks.resident, "weights and optimiser state");
  add_line(needs, "best weights", bytes_of(weights_of(*parts.model)), "a copy of the weights");
  add_line(needs,
           "tensors of a step",
           with_margin(step),
           fmt::format("{} in a trial step, + {} %", format_bytes(step), kMarginPercent));
  add_line(needs,
           "mini-batches",
           2 * (needs.block_bytes + needs.feature_bytes),
           "in step, being assembled");
  add_line(needs,
           "transfer slabs",
           LoaderMemory::kInFlight * needs.transfer_bytes,
           "pinned, mini-batches on their way to the card");
  add_line(needs, "trace", work.trace_bytes, "its buffer");
  add_line(needs, "other", kOtherBytes, "file buffers, predictions");
  return needs;
}

BudgetPlan split_budget(std::uint64_t budget, const BudgetNeeds& needs) {
  BudgetPlan plan;
  plan.budget = budget;
  plan.lines = needs.lines;
  plan.device_lines = needs.device_lines;
  const std::uint64_t fixed = sum_of(needs.lines);
  plan.least = (fixed + needs.window_bytes + kMiB - 1) / kMiB * kMiB;
  if (!plan.fits()) {
    plan.lines.push_back({"windows", needs.window_bytes, "the least"});
    return plan;
  }
  const std::uint64_t rest = budget - fixed;
  const std::uint64_t batch = needs.block_bytes + needs.feature_bytes;
  // Batches may wait where there is room: it evens out steps of different length.
  std::uint64_t waiting = std::min(4 * batch, (rest - needs.window_bytes) / 6);
  if (waiting < batch || needs.transfer_bytes != 0) waiting = 0;
  plan.loader.window_bytes = rest - waiting;
  plan.loader.transfer_bytes = needs.transfer_bytes;
  // The queue counts features only; the blocks ride along.
  plan.loader.queue_bytes =
      batch == 0 ? 1
                 : static_cast<std::uint64_t>(static_cast<double>(waiting) *
                                              static_cast<double>(needs.feature_bytes) /
                                              static_cast<double>(batch));
  if (waiting != 0) plan.lines.push_back({"queue", waiting, "mini-batches waiting"});
  plan.lines.push_back({"windows", plan.loader.window_bytes, "the rest"});
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
