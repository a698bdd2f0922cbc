#include "pipeline/epoch_plan.h"

#include "core/radix_sort.h"
#include "pipeline/epoch_lists.h"
#include "pipeline/stage_clock.h"
#include "storage/feature/disk_store.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>

#include <malloc.h>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A row's part in the lists of a window while the cache goes through it: id, next use, place; and
// where it is missing its number, and twice (two windows are listed at a time) itself and its id,
// with room to sort them, and what goes to the files.
constexpr std::uint64_t kAdmitBytes = 8 + 4 + 4 + 4 + 2 * (2 * sizeof(WantedRow) + 2 * 8) + 12;

}  // namespace

// The plan of one node type.
struct TypePlan {
  TypePlan(const std::filesystem::path& folder, std::uint64_t nodes) : lists(folder, nodes) {}

  EpochLists lists;
  std::uint32_t prefilled_slots = 0;  // the first of the cache: rows go there without a run
  std::vector<WantedRow> prefill;     // ascending, when all windows were admitted
  std::unique_ptr<PackedRows> packed;
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
  void admit(std::size_t type, const DeviceProfile& device, Busy& busy);
  std::shared_ptr<PackingBuffers> packing_buffers(const TypePlan& plan,
                                                  const FeatureLayout& layout);
  bool pack(TypePlan& plan,
            RowCache& cache,
            DiskFeatureStore& store,
            const NeededParts& needed,
            std::shared_ptr<PackingBuffers> buffers);
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
  std::uint64_t prefilled_bytes = 0;  // of caches beyond what they held, while planning goes on
  double seconds = 0;
};

void EpochPlan::State::sample(WindowSource& windows) {
  const TraceSpan span(options.trace, "sample ahead");
  while (const auto window = windows.sample()) {
    check_stopped();
    batches.push_back(window->batches.size());
    for (std::size_t type = 0; type < types.size(); ++type) {
      if (!types[type]) continue;
      types[type]->lists.add_window(window->rows[type]->index->ids());
    }
  }
}

namespace {

// The rows with those numbers, and where they belong.
void list_rows(std::span<const std::uint32_t> numbers,
               std::span<const std::uint64_t> ids,
               std::span<const std::uint32_t> places,
               std::vector<WantedRow>& out) {
  out.clear();
  for (const std::uint32_t i : numbers) out.push_back({ids[i], places[i]});
}

// What a window misses.
struct MissedRows {
  std::vector<WantedRow> prefilled;
  std::vector<WantedRow> run;  // the others
  std::vector<WantedRow> sorting;
  std::vector<std::uint64_t> ids, sorting_ids;
};

// Lists what a window misses, and chooses how it would best be read without repacking.
void note_missed(EpochLists& lists, EpochLists::Step& step, MissedRows& rows, EpochCost& cost) {
  step.first_missing = lists.missing_rows();
  radix_sort(rows.run, rows.sorting, [](const WantedRow& row) { return row.row; });
  lists.append_missing(rows.run);
  lists.append_missing(rows.prefilled);
  rows.ids.clear();
  for (const WantedRow& row : rows.run) rows.ids.push_back(row.row);
  for (const WantedRow& row : rows.prefilled) rows.ids.push_back(row.row);
  if (!rows.prefilled.empty())
    radix_sort(rows.ids, rows.sorting_ids, [](std::uint64_t id) { return id; });
  const EpochCost::Choice choice = cost.add(rows.ids, step.missing);
  step.plan = choice.plan;
  step.gap_bytes = choice.gap_bytes;
}

}  // namespace

// For packing that may be decided on: null where there is no room, which packing says itself.
std::shared_ptr<PackingBuffers> EpochPlan::State::packing_buffers(const TypePlan& plan,
                                                                  const FeatureLayout& layout) {
  if (options.plan == PlanChoice::kDirect || options.plan == PlanChoice::kSweep) return nullptr;
  const std::uint64_t bytes =
      options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes);
  try {
    return std::make_shared<PackingBuffers>(plan.lists.steps.size(), layout, bytes, &ledger);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return nullptr;
  }
}

// Lets the cache go through the epoch without rows, prices every window, and chooses. A window is
// priced and listed on another thread while the cache goes on to the next.
void EpochPlan::State::admit(std::size_t type, const DeviceProfile& device, Busy& busy) {
  TypePlan& plan = *types[type];
  EpochLists& lists = plan.lists;
  RowCache& cache = *data.caches[type];
  auto& store = dynamic_cast<DiskFeatureStore&>(*data.features[type]);
  const FeatureLayout& layout = store.layout();
  const Charge charge = ledger.charge("epoch plan", lists.most_rows() * kAdmitBytes).or_throw();
  EpochCost cost(layout, device, options.plan, &ledger);
  std::vector<std::uint64_t> ids;
  std::vector<std::uint32_t> places, missing;
  cache.clear();
  const std::uint64_t kept = cache.held_bytes();
  const std::uint64_t buffer_bytes =
      options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes);
  const std::uint32_t prefilled_slots = slots_to_prefill(
      options.plan, lists.steps.size(), layout, buffer_bytes + kept, cache.slots());
  const Charge prefill_charge =
      ledger.charge("epoch plan", prefilled_slots * 2 * sizeof(WantedRow)).or_throw();
  plan.prefill.reserve(prefilled_slots);
  plan.prefilled_slots = prefilled_slots;
  const std::uint64_t table_bytes = std::uint64_t{prefilled_slots} * layout.row_bytes;
  const std::uint64_t taken_bytes = table_bytes - std::min(table_bytes, kept);
  prefilled_bytes += taken_bytes;
  // Pages are made while the cache goes through the epoch. A device's table is there all at once,
  // or not at all: it waits until it is wanted.
  if (!data.options.compute) (void)cache.table(prefilled_slots);
  std::shared_ptr<PackingBuffers> buffers = packing_buffers(plan, layout);
  std::array<MissedRows, 2> missed;
  std::future<void> pricing;
  for (std::size_t w = 0; w < lists.steps.size(); ++w) {
    check_stopped();
    EpochLists::Step& step = lists.steps[w];
    lists.read_ids(step, ids);
    places.resize(step.rows);
    const std::vector<std::uint32_t> next = lists.read_next_uses(step);
    step.admission = cache.admit(ids, next, nullptr, places, missing);
    lists.append_places(places);
    step.prefilled = count_prefilled(step.admission, missing, places, prefilled_slots);
    step.missing = missing.size() - step.prefilled;
    const std::span<const std::uint32_t> all(missing);
    MissedRows& rows = missed[w % 2];
    list_rows(all.first(step.prefilled), ids, places, rows.prefilled);
    list_rows(all.subspan(step.prefilled), ids, places, rows.run);
    plan.prefill.insert(plan.prefill.end(), rows.prefilled.begin(), rows.prefilled.end());
    if (pricing.valid()) pricing.get();
    pricing = std::async(std::launch::async,
                         [&lists, &step, &rows, &cost] { note_missed(lists, step, rows, cost); });
  }
  if (pricing.valid()) pricing.get();
  cache.clear();

  const EpochCost::Decision decision = cost.decide(options.buffer_bytes);
  reasons.push_back(decision.why);
  {
    const Busy::Pause pause(busy);
    if (decision.pack && pack(plan, cache, store, cost.needed(), std::move(buffers))) return;
  }
  cache.forget_rows(static_cast<std::uint32_t>(kept / std::max(layout.row_bytes, 1u)));
  prefilled_bytes -= taken_bytes;
  plan.prefill = {};
}

// False where there is no room, as on the disk: what was only the cheapest plan may be left.
bool EpochPlan::State::pack(TypePlan& plan,
                            RowCache& cache,
                            DiskFeatureStore& store,
                            const NeededParts& needed,
                            std::shared_ptr<PackingBuffers> buffers) {
  EpochLists& lists = plan.lists;
  const std::unique_ptr<RunIds> runs = lists.runs();
  PackedRowsOptions packed;
  packed.folder = options.folder;
  packed.engine = store.engine_options();
  packed.read_bytes = data.options.staging_bytes;
  packed.buffer_bytes = options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes);
  packed.buffers = std::move(buffers);
  Busy repacking(packing);
  repacking.note("windows", static_cast<double>(lists.steps.size()));
  repacking.note("rows", static_cast<double>(lists.missing_rows()));
  std::vector<WantedRow> sorting;
  radix_sort(plan.prefill, sorting, [](const WantedRow& row) { return row.row; });
  sorting = {};
  try {
    const Prefill prefill{plan.prefill, cache.table(plan.prefilled_slots)};
    plan.packed = std::make_unique<PackedRows>(
        store, *runs, needed, std::move(packed), &ledger, options.stopped, prefill);
  } catch (const Error& error) {
    if (options.plan == PlanChoice::kRepack || error.code() != ErrorCode::kResource) throw;
    reasons.back() += "; not repacked after all: " + error.message();
    return false;
  }
  plan.prefill = {};
  for (EpochLists::Step& step : lists.steps) step.plan = WindowPlan::kPacked;
  return true;
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
  windows.begin(where, limits);
  {
    Busy busy(state->planning);
    state->sample(windows);
    // Mini-batches that were freed stay with malloc otherwise, beside the cache's rows, which take
    // their room in the budget from here on: up to 180 MiB were, of a budget of 1.2 GiB.
    ::malloc_trim(0);
    for (std::size_t type = 0; type < state->types.size(); ++type) {
      if (!state->types[type]) continue;
      {
        const TraceSpan span(options.trace, "find next uses");
        state->types[type]->lists.find_next_uses(
            options.buffer_bytes, ledger, [&] { state->check_stopped(); });
      }
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
  return state_->types[type]->lists.steps.at(window).plan;
}
std::uint32_t EpochPlan::gap(std::size_t window, std::size_t type) const {
  return state_->types[type]->lists.steps.at(window).gap_bytes;
}
RowCache::Admission EpochPlan::rows(std::size_t window,
                                    std::size_t type,
                                    std::span<std::uint32_t> places,
                                    std::vector<WantedRow>& wanted) {
  EpochLists& lists = state_->types[type]->lists;
  const EpochLists::Step& step = lists.steps.at(window);
  if (step.rows != places.size())
    throw Error(ErrorCode::kInternal, "a window differs from the one that was planned");
  lists.read_places(step, places);
  lists.read_missing(step, wanted);
  return step.admission;
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
    return plan.lists.bytes_read() + (plan.packed ? plan.packed->bytes_read() : 0);
  });
}
std::uint64_t EpochPlan::bytes_written() const {
  return sum(state_->types, [](const TypePlan& plan) {
    return plan.lists.bytes_written() + (plan.packed ? plan.packed->bytes_written() : 0);
  });
}
EpochPlan::ListBytes EpochPlan::list_bytes(std::uint64_t nodes,
                                           const ListSizes& sizes,
                                           std::uint64_t buffer_bytes) {
  return EpochLists::bytes(nodes, sizes, buffer_bytes);
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
