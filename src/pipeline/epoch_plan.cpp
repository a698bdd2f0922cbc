#include "pipeline/epoch_plan.h"

#include "core/radix_sort.h"
#include "pipeline/stage_clock.h"
#include "storage/feature/disk_store.h"
#include "storage/io/scratch_list.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kUnwritten = 0;  // no window is numbered 0: "never" on disk

std::size_t id_width(std::uint64_t nodes) {
  return nodes <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8;
}

std::size_t window_width(std::uint64_t windows) {
  return windows < std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
}

// Ids whose next uses are found in one pass over the lists.
std::uint64_t noted_at_once(std::uint64_t nodes, std::uint64_t buffer_bytes) {
  return std::clamp<std::uint64_t>(buffer_bytes / 2 / sizeof(std::uint32_t), 1, nodes);
}

// What is planned for one window and node type.
struct Step {
  std::uint64_t first_id = 0;  // into the lists
  std::uint64_t rows = 0;
  std::uint64_t first_missing = 0;  // of those that are not prefilled
  std::uint64_t missing = 0;        // likewise
  std::uint64_t prefilled = 0;
  WindowPlan plan = WindowPlan::kDirect;
  std::uint32_t gap_bytes = 0;
};

}  // namespace

// The plan of one node type.
struct TypePlan {
  TypePlan(const std::filesystem::path& folder, std::uint64_t nodes)
      : ids(folder, id_width(nodes)), missing(folder, id_width(nodes)) {}

  std::vector<Step> steps;  // by window
  ScratchList ids;
  ScratchList missing;             // those of a window's run, ascending
  std::vector<WantedRow> prefill;  // ascending, when all windows were admitted
  std::optional<ScratchList> next;
  std::unique_ptr<PackedRows> packed;

  std::uint64_t most_rows() const {
    std::uint64_t most = 0;
    for (const Step& step : steps) most = std::max(most, step.rows);
    return most;
  }
};

struct EpochPlan::State {
  State(GraphData::State& graph, const EpochPlanOptions& given, MemoryLedger& book)
      : data(graph),
        options(given),
        ledger(book),
        planning("plan", given.trace),
        packing("repack", given.trace),
        types(graph.features.size()) {}

  void sample(WindowSource& windows);
  void find_next_uses(TypePlan& plan, std::uint64_t nodes);
  void admit(std::size_t type, const DeviceProfile& device, Busy& busy);
  void pack(TypePlan& plan, RowCache& cache, DiskFeatureStore& store, const NeededParts& needed);
  void check_stopped() const {
    if (options.stopped && options.stopped())
      throw Error(ErrorCode::kInterrupted, "interrupted while an epoch was planned");
  }

  GraphData::State& data;
  EpochPlanOptions options;
  MemoryLedger& ledger;
  StageClock planning;
  StageClock packing;
  std::vector<std::unique_ptr<TypePlan>> types;
  std::vector<std::uint64_t> batches;  // by window
  std::vector<std::string> reasons;
  std::uint64_t prefilled_bytes = 0;  // of caches, while planning goes on
  double seconds = 0;
};

void EpochPlan::State::sample(WindowSource& windows) {
  const TraceSpan span(options.trace, "sample ahead");
  while (const auto window = windows.sample()) {
    check_stopped();
    batches.push_back(window->batches.size());
    for (std::size_t type = 0; type < types.size(); ++type) {
      if (!types[type]) continue;
      TypePlan& plan = *types[type];
      const std::span<const std::uint64_t> ids = window->rows[type]->index.ids();
      Step step;
      step.first_id = plan.ids.size();
      step.rows = ids.size();
      plan.ids.append(ids);
      plan.steps.push_back(step);
    }
  }
}

// Goes backwards through the windows and notes by id where it was met last; for one range of ids
// after the other where notes of all would take too much memory.
void EpochPlan::State::find_next_uses(TypePlan& plan, std::uint64_t nodes) {
  const TraceSpan span(options.trace, "find next uses");
  plan.next.emplace(options.folder, window_width(plan.steps.size()));
  const std::uint64_t most = plan.most_rows();
  const Charge lists = ledger.charge("epoch plan", most * 12).or_throw();
  const std::uint64_t range = noted_at_once(nodes, options.buffer_bytes);
  const Charge notes = ledger.charge("epoch plan", range * sizeof(std::uint32_t)).or_throw();
  std::vector<std::uint32_t> met(range);
  std::vector<std::uint64_t> ids(most);
  std::vector<std::uint32_t> next(most);
  for (std::uint64_t begin = 0; begin < nodes; begin += range) {
    std::fill(met.begin(), met.end(), kUnwritten);
    for (std::size_t w = plan.steps.size(); w-- > 0;) {
      check_stopped();
      const Step& step = plan.steps[w];
      const std::span<std::uint64_t> of_window = std::span(ids).first(step.rows);
      const std::span<std::uint32_t> uses = std::span(next).first(step.rows);
      plan.ids.read(step.first_id, of_window);
      if (begin != 0) plan.next->read(step.first_id, uses);
      constexpr std::size_t kAhead = 16;
      for (std::size_t i = 0; i < step.rows; ++i) {
        if (i + kAhead < step.rows && of_window[i + kAhead] - begin < range)
          __builtin_prefetch(&met[of_window[i + kAhead] - begin], 1);
        if (of_window[i] < begin || of_window[i] - begin >= range) continue;
        std::uint32_t& note = met[of_window[i] - begin];
        uses[i] = note;
        note = static_cast<std::uint32_t>(w + 1);
      }
      plan.next->write(step.first_id, uses);
    }
  }
}

namespace {

// The missed ids of each window, as PackedRows takes them.
class MissedIds final : public RunIds {
 public:
  explicit MissedIds(TypePlan& plan) : plan_(plan), taken_(plan.steps.size(), 0) {}
  std::size_t runs() const override { return plan_.steps.size(); }
  std::uint64_t size(std::size_t run) const override { return plan_.steps[run].missing; }
  std::size_t take(std::size_t run, std::span<std::uint64_t> out) override {
    const Step& step = plan_.steps[run];
    const std::size_t count = std::min<std::uint64_t>(out.size(), step.missing - taken_[run]);
    plan_.missing.read(step.first_missing + taken_[run], out.first(count));
    taken_[run] += count;
    return count;
  }

 private:
  TypePlan& plan_;
  std::vector<std::uint64_t> taken_;
};

std::vector<std::uint32_t> read_next_uses(TypePlan& plan, const Step& step) {
  std::vector<std::uint32_t> uses(step.rows);
  plan.next->read(step.first_id, std::span<std::uint32_t>(uses));
  for (std::uint32_t& use : uses) {
    if (use == kUnwritten) use = kNeverUsed;
  }
  return uses;
}

}  // namespace

// Lets the cache go through the epoch without rows, prices every window, and chooses.
void EpochPlan::State::admit(std::size_t type, const DeviceProfile& device, Busy& busy) {
  TypePlan& plan = *types[type];
  RowCache& cache = *data.caches[type];
  auto& store = dynamic_cast<DiskFeatureStore&>(*data.features[type]);
  const FeatureLayout& layout = store.layout();
  const Charge lists = ledger.charge("epoch plan", plan.most_rows() * 44).or_throw();
  EpochCost cost(layout, device, options.plan, &ledger);
  const auto by_id = [](std::uint64_t id) { return id; };
  std::vector<std::uint64_t> ids, missed, run, sorting;
  std::vector<std::uint32_t> places, missing;
  cache.clear();
  const std::uint32_t prefilled_slots =
      slots_to_prefill(options.plan,
                       plan.steps.size(),
                       layout,
                       options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes),
                       cache.slots());
  const Charge prefill_charge =
      ledger.charge("epoch plan", prefilled_slots * 2 * sizeof(WantedRow)).or_throw();
  plan.prefill.reserve(prefilled_slots);
  for (Step& step : plan.steps) {
    check_stopped();
    ids.resize(step.rows);
    places.resize(step.rows);
    plan.ids.read(step.first_id, std::span<std::uint64_t>(ids));
    const std::vector<std::uint32_t> next = read_next_uses(plan, step);
    const RowCache::Admission admission = cache.admit(ids, next, nullptr, places, missing);
    missed.clear();
    for (const std::uint32_t i : missing) missed.push_back(ids[i]);
    step.prefilled = count_prefilled(admission, missing, places, prefilled_slots);
    for (std::size_t m = 0; m < step.prefilled; ++m)
      plan.prefill.push_back({missed[m], places[missing[m]]});
    run.assign(missed.begin() + static_cast<std::ptrdiff_t>(step.prefilled), missed.end());
    radix_sort(run, sorting, by_id);
    radix_sort(missed, sorting, by_id);
    step.first_missing = plan.missing.size();
    step.missing = run.size();
    plan.missing.append(std::span<const std::uint64_t>(run));

    const EpochCost::Choice choice = cost.add(missed, run.size());
    step.plan = choice.plan;
    step.gap_bytes = choice.gap_bytes;
  }
  cache.clear();

  const EpochCost::Decision decision = cost.decide(options.buffer_bytes);
  reasons.push_back(decision.why);
  if (decision.pack) {
    const Busy::Pause pause(busy);
    pack(plan, cache, store, cost.needed());
  }
  plan.prefill = {};
}

void EpochPlan::State::pack(TypePlan& plan,
                            RowCache& cache,
                            DiskFeatureStore& store,
                            const NeededParts& needed) {
  MissedIds runs(plan);
  PackedRowsOptions packed;
  packed.folder = options.folder;
  packed.engine = store.engine_options();
  packed.read_bytes = data.options.staging_bytes;
  try {
    Busy repacking(packing);
    repacking.note("windows", static_cast<double>(plan.steps.size()));
    repacking.note("rows", static_cast<double>(plan.missing.size()));
    std::vector<WantedRow> sorting;
    radix_sort(plan.prefill, sorting, [](const WantedRow& row) { return row.row; });
    sorting = {};
    std::uint32_t slots = 0;
    for (const WantedRow& row : plan.prefill)
      slots = std::max(slots, static_cast<std::uint32_t>(row.place) + 1);
    const Prefill prefill{plan.prefill, cache.table(slots)};
    prefilled_bytes += prefill.table.size();
    packed.buffer_bytes = options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes);
    plan.packed = std::make_unique<PackedRows>(
        store, runs, needed, packed, &ledger, options.stopped, prefill);
  } catch (const Error& error) {
    cache.release_rows();
    // No room on the disk, say: what was only the cheapest plan may be left.
    if (options.plan == PlanChoice::kRepack || error.code() != ErrorCode::kResource) throw;
    reasons.back() += "; not repacked after all: " + error.message();
    return;
  }
  for (Step& step : plan.steps) step.plan = WindowPlan::kPacked;
}

EpochPlan::EpochPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
EpochPlan::~EpochPlan() = default;

std::unique_ptr<EpochPlan> EpochPlan::make(GraphData::State& data,
                                           WindowSource& windows,
                                           const LoaderStart& where,
                                           const WindowLimits& limits,
                                           const DeviceProfile& device,
                                           const EpochPlanOptions& options,
                                           MemoryLedger& ledger) {
  const auto begin = SteadyClock::now();
  auto state = std::make_unique<State>(data, options, ledger);
  for (std::size_t type = 0; type < state->types.size(); ++type) {
    if (data.on_disk(type)) {
      state->types[type] =
          std::make_unique<TypePlan>(options.folder, data.graph.schema->nodes[type].count);
    }
  }
  // What is cached goes: rows that are worth it come back with the first windows, and planning has
  // the memory until then.
  for (const auto& cache : data.caches) {
    if (cache) cache->release_rows();
  }
  windows.begin(where, limits);
  {
    Busy busy(state->planning);
    state->sample(windows);
    for (std::size_t type = 0; type < state->types.size(); ++type) {
      if (!state->types[type]) continue;
      state->find_next_uses(*state->types[type], data.graph.schema->nodes[type].count);
      state->admit(type, device, busy);
    }
  }
  windows.begin(where, limits);
  state->seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return std::unique_ptr<EpochPlan>(new EpochPlan(std::move(state)));
}

std::size_t EpochPlan::num_windows() const {
  return state_->batches.size();
}
std::uint64_t EpochPlan::batches(std::size_t window) const {
  return state_->batches.at(window);
}
WindowPlan EpochPlan::plan(std::size_t window, std::size_t type) const {
  return state_->types[type]->steps.at(window).plan;
}
std::uint32_t EpochPlan::gap(std::size_t window, std::size_t type) const {
  return state_->types[type]->steps.at(window).gap_bytes;
}
std::vector<std::uint32_t> EpochPlan::next_uses(std::size_t window, std::size_t type) {
  TypePlan& plan = *state_->types[type];
  return read_next_uses(plan, plan.steps.at(window));
}
std::size_t EpochPlan::prefilled(std::size_t window, std::size_t type) const {
  return state_->types[type]->steps.at(window).prefilled;
}
PackedRows* EpochPlan::packed(std::size_t type) {
  return state_->types[type]->packed.get();
}
const std::vector<std::string>& EpochPlan::reasons() const {
  return state_->reasons;
}
double EpochPlan::seconds() const {
  return state_->seconds;
}
std::vector<StageTimes> EpochPlan::stages() const {
  return {state_->planning.times(), state_->packing.times()};
}

namespace {

template <class Count>
std::uint64_t sum(const std::vector<std::unique_ptr<TypePlan>>& types, Count count) {
  std::uint64_t total = 0;
  for (const auto& plan : types) {
    if (plan) total += count(*plan);
  }
  return total;
}

}  // namespace

std::uint64_t EpochPlan::bytes_read() const {
  return sum(state_->types, [](const TypePlan& plan) {
    return plan.ids.bytes_read() + plan.missing.bytes_read() +
           (plan.next ? plan.next->bytes_read() : 0) +
           (plan.packed ? plan.packed->bytes_read() : 0);
  });
}
std::uint64_t EpochPlan::bytes_written() const {
  return sum(state_->types, [](const TypePlan& plan) {
    return plan.ids.bytes_written() + plan.missing.bytes_written() +
           (plan.next ? plan.next->bytes_written() : 0) +
           (plan.packed ? plan.packed->bytes_written() : 0);
  });
}
// Ids: written, read in each pass, and when the cache goes through. Next uses: written in each
// pass, read in all but the first, when the cache goes through, and when the window is fetched.
// Missed ids: written, and read by repacking, which counts them itself.
EpochPlan::ListBytes EpochPlan::list_bytes(std::uint64_t nodes,
                                           const ListSizes& sizes,
                                           std::uint64_t buffer_bytes) {
  const std::uint64_t at_once = noted_at_once(nodes, buffer_bytes);
  const std::uint64_t passes = (nodes + at_once - 1) / at_once;
  const std::uint64_t id = id_width(nodes);
  const std::uint64_t use = window_width(sizes.windows);
  return {sizes.wanted * (id * (passes + 1) + use * (passes + 1)),
          sizes.wanted * (id + use * passes) + sizes.missed * id};
}
RequestLatency EpochPlan::latency() const {
  RequestLatency total;
  for (const auto& plan : state_->types) {
    if (plan && plan->packed) total += plan->packed->io_stats().latency;
  }
  return total;
}
std::uint64_t EpochPlan::requests() const {
  return sum(state_->types,
             [](const TypePlan& plan) { return plan.packed ? plan.packed->requests() : 0; });
}

}  // namespace sluice
