#include "budget/memory_plan.h"

#include "budget/memory_ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

using namespace memory_ratios;

// What `from` is beyond `of`.
std::uint64_t beyond(std::uint64_t from, std::uint64_t of) {
  return from - std::min(from, of);
}

std::uint64_t margin_of(const MemoryNeeds& needs) {
  if (!needs.phases.is_tight()) return kMarginPercent;
  std::uint64_t percent = 0;
  for (const LoaderProbe* probe : {&needs.training, &needs.evaluation}) {
    if (probe->batches == 0) continue;
    const std::uint64_t largest = probe->block_bytes + probe->feature_bytes;
    const bool few = probe->batches < kProbedForSpread || largest == 0;
    const std::uint64_t spread =
        few ? kMarginPercent : (largest - probe->smallest_bytes) * 100 / largest + 1;
    percent = std::max(percent, std::clamp(spread, kLeastMarginPercent, kMarginPercent));
  }
  return percent;
}

// The needs of the larger of the loaders, with their margin.
struct Raised {
  explicit Raised(const MemoryNeeds& of)
      : needs(of),
        percent(margin_of(of)),
        transfer(most(&LoaderProbe::transfer_bytes)),
        // On their way to a GPU features are in the slabs.
        features(transfer == 0 ? most(&LoaderProbe::feature_bytes) : 0),
        batch(most(&LoaderProbe::block_bytes) + features),
        delivered((of.phases.delivered() + (of.learned.ahead ? 1 : 0)) * batch),
        step(raised(of.step, percent)) {}

  std::uint64_t most(std::uint64_t LoaderProbe::*bytes) const {
    return raised(std::max(needs.training.*bytes, needs.evaluation.*bytes), percent);
  }
  // Of a measured figure.
  std::string note(std::uint64_t bytes) const {
    return fmt::format("{} {}, + {} %", format_bytes(bytes), needs.step_from, percent);
  }

  const MemoryNeeds& needs;
  std::uint64_t percent;
  std::uint64_t transfer;  // of a mini-batch packed for a GPU
  std::uint64_t features;  // of a mini-batch
  std::uint64_t batch;
  std::uint64_t delivered;  // mini-batches at once
  std::uint64_t step;
};

void add_sampling(const Raised& all, MemoryTable& to) {
  const LoaderProbe& training = all.needs.training;
  const LoaderProbe& evaluation = all.needs.evaluation;
  if (all.needs.phases.samples_beside_steps()) {
    to.add({"sampler workspace",
            raised(training.workspace_bytes + evaluation.workspace_bytes, all.percent),
            "all data threads",
            MemoryUse::kSampling});
    return to.add(
        {"sampled ahead",
         std::max(training.group, evaluation.group) * all.most(&LoaderProbe::sampled_bytes),
         "mini-batches sampled at once",
         MemoryUse::kSampling});
  }
  to.add({"sampled before steps",
          all.most(&LoaderProbe::kept_bytes),
          "buffers and checksums of what an epoch keeps on disk"});
  to.add({"sampling",
          all.most(&LoaderProbe::sampling_bytes),
          "workspaces, mini-batches, lists",
          MemoryUse::kSampling});
}

// All that does not depend on the budget.
void add_fixed(const Raised& all, MemoryTable& to) {
  const MemoryNeeds& needs = all.needs;
  to.lines = needs.loaded;
  add_sampling(all, to);
  to.add({"model and optimizer", needs.resident, "weights and optimiser state"});
  to.add({"best weights", needs.weights, "a copy of the weights"});
  to.add({"embedding lists", needs.learned.fixed, "of learned rows: pages, sums of a mini-batch"});
  to.add({"embedding partitions",
          needs.learned.slots,
          fmt::format("in memory at once, of {} of learned rows on disk",
                      format_bytes(needs.learned.disk))});
  to.add({"edge buckets", needs.learned.buckets, "pieces of them, and checksums"});
  to.add({needs.step_line, all.step, all.note(needs.step), MemoryUse::kSteps});
  if (needs.phases.delivered() == 1)
    to.add({"mini-batch", all.delivered, "in step", MemoryUse::kSteps});
  else
    to.add({"mini-batches",
            all.delivered,
            needs.learned.ahead ? "in step, the next, being assembled" : "in step, being assembled",
            MemoryUse::kSteps});
  to.add({"transfer slabs",
          LoaderMemory::kInFlight * all.transfer,
          "pinned, mini-batches on their way to the GPU"});
  to.add({"repacked rows", needs.reading_back, "buffers to read them back", MemoryUse::kSteps});
  to.add({"trace", needs.trace, "its buffer"});
  to.add({"other", kOtherBytes, "file buffers, predictions"});
}

// While steps are tried, and uses counted, before anything runs.
std::uint64_t measuring_bytes(const Raised& all) {
  const MemoryNeeds& needs = all.needs;
  const std::uint64_t tried = needs.copied + needs.tried + all.batch;
  std::uint64_t bytes = needs.resident + std::max(tried, needs.counted);
  for (const MemoryLine& line : needs.loaded) bytes += line.bytes;
  return bytes;
}

void plan_device(const Raised& all, std::uint64_t budget, MemoryPlan& plan) {
  plan.device.budget = budget;
  if (budget == 0) return;
  // Rows that are kept there are of LibTorch's pool; how many they are is known.
  const std::uint64_t rows = all.needs.learned.on_device;
  const std::uint64_t pool = beyond(all.needs.device_tensors, rows);
  plan.device_in_flight = LoaderMemory::kInFlight * all.transfer;
  plan.device.lines = {{"mini-batches in flight", plan.device_in_flight, "copied, ready, in step"}};
  plan.device.add({"learned rows", rows, "with what their optimizer keeps"});
  plan.device.add({"tensors", raised(pool, all.percent), all.note(pool)});
  plan.device.need(plan.device.bytes({}));
}

// Mini-batches ahead of the one in step, for windows of so many: two windows, but for the two
// mini-batches that are held anyway.
std::uint64_t ahead_bytes(const Raised& all, std::uint64_t window) {
  return (2 * window - 2) * all.batch;
}

// Splits what learned rows on disk get between their cache and the mini-batches that are announced
// ahead, so that two windows of these ask for as many rows as the cache holds. Small mini-batches
// may be twice as many: where they ask for the same rows, those of more fit.
void share_learned(const Raised& all, std::uint64_t bytes, MemoryPlan& plan) {
  const LearnedNeeds& learned = all.needs.learned;
  plan.learned_cache = bytes;
  // On a GPU mini-batches are in its memory, few at once; all rows at once need no windows.
  if (!learned.ahead || all.transfer != 0 || bytes >= learned.most || all.batch == 0) return;
  const std::uint64_t least = learned.least * 100 / (100 + kMarginPercent);  // of what was asked
  const std::uint64_t window = bytes / (least + 2 * all.batch);
  if (window < 2) return;
  plan.learned_window = window;
  if (ahead_bytes(all, 2 * window) <= bytes / kSmallAhead) plan.learned_window = 2 * window;
  plan.learned_cache = bytes - ahead_bytes(all, plan.learned_window);
}

// What windows have of so many free bytes for mini-batches alone, without rows.
std::uint64_t without_rows(std::uint64_t free) {
  return std::max(std::min(free, kLittleWithoutFeatures) / kLearnedShare,
                  free / kWindowsWithoutFeatures);
}

// What learned rows on disk get of so many free bytes, beyond their least.
std::uint64_t more_of_learned(const Raised& all, std::uint64_t free) {
  const LearnedNeeds& learned = all.needs.learned;
  const std::uint64_t most = beyond(learned.most, learned.least);
  if (most == 0) return 0;
  std::uint64_t more = free - without_rows(free);
  if (all.needs.caches.any()) {
    const std::vector<std::uint64_t> shares = learned_shares(all.needs.caches, more);
    more = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  } else if (all.most(&LoaderProbe::feature_bytes) != 0) {
    more = free - free / kLearnedShare;
  }
  return std::min(most, more);
}

// Splits the rest between windows, mini-batches that wait, and what the sizes of blocks may take.
// @param least of it, for windows
void share_rest(const Raised& all, std::uint64_t rest, std::uint64_t least, MemoryPlan& plan) {
  const MemoryPhases& phases = all.needs.phases;
  std::uint64_t waiting = std::min(kMostWaiting * all.batch, (rest - least) / kWaitingShare);
  if (waiting < all.batch || all.transfer != 0 || !phases.queues()) waiting = 0;
  std::uint64_t sizes = 0;
  if (phases.is_tight() && all.percent < kBlockSizePercent)
    sizes = (all.step + all.delivered) / (100 + all.percent) * (kBlockSizePercent - all.percent);
  sizes = std::min(sizes, rest - least);
  const LearnedNeeds& learned = all.needs.learned;
  const std::uint64_t more = more_of_learned(all, rest - least - waiting - sizes);
  share_learned(all, learned.least + more, plan);
  // Where all rows fit there is nothing to share, and by the rounded size of a row some would not.
  if (all.needs.caches.any() && plan.learned_cache < learned.most)
    plan.learned_shares =
        shares_among_learned(all.needs.caches, beyond(plan.learned_cache, learned.least));
  plan.add({"embedding cache",
            plan.learned_cache,
            fmt::format("of {} of learned rows on disk", format_bytes(learned.disk))});
  plan.add({"mini-batches ahead",
            learned.least + more - plan.learned_cache,
            fmt::format("whose rows are read for {} at once", plan.learned_window)});
  plan.loader.window_bytes = rest - waiting - sizes - more;
  plan.loader.transfer_bytes = all.transfer;
  // The queue counts features only; the blocks ride along.
  const auto of_features = static_cast<double>(waiting) * static_cast<double>(all.features);
  plan.loader.queue_bytes =
      all.batch == 0 ? 1 : static_cast<std::uint64_t>(of_features / static_cast<double>(all.batch));
  plan.add({"queue", waiting, "mini-batches waiting", MemoryUse::kSteps});
  plan.add({"block sizes", sizes, "blocks may be larger than asked for", MemoryUse::kSteps});
  plan.lines.push_back({"windows", plan.loader.window_bytes, "the rest", MemoryUse::kSteps});
}

}  // namespace

MemoryPlan plan_memory(const MemoryNeeds& needs,
                       std::uint64_t budget,
                       std::uint64_t device_budget) {
  const Raised all(needs);
  MemoryPlan plan;
  plan.budget = budget;
  plan.phases = needs.phases.list();
  plan.loader = needs.phases.loader();
  plan_device(all, device_budget, plan);
  add_fixed(all, plan);
  plan.fixed = plan.bytes(plan.phases.back()) + needs.learned.least;
  // What another phase takes beyond the steps' windows get too, once it is over.
  std::uint64_t windows = all.most(&LoaderProbe::window_bytes);
  for (const MemoryPhase& phase : plan.phases)
    windows = std::max(windows, beyond(plan.bytes(phase) + needs.learned.least, plan.fixed));
  const std::uint64_t copies = beyond(measuring_bytes(all), plan.fixed + windows);
  plan.need(plan.fixed + windows + copies);
  if (plan.fits()) {
    share_rest(all, budget - plan.fixed, windows, plan);
    return plan;
  }
  plan.add(
      {"embedding cache",
       needs.learned.least,
       fmt::format("the least, of {} of learned rows on disk", format_bytes(needs.learned.disk))});
  plan.lines.push_back({"windows", windows, "the least", MemoryUse::kSteps});
  plan.add({"while measured",
            copies,
            needs.counted == 0 ? "copies of weights and state"
                               : "copies of weights and state, or counts of uses",
            MemoryUse::kSteps});
  return plan;
}

}  // namespace sluice
