#include "pipeline/epoch_plan.h"

#include "core/radix_sort.h"
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
      : data(graph), options(given), ledger(book), types(graph.features.size()) {}

  void sample(WindowSource& windows);
  void find_next_uses(TypePlan& plan, std::uint64_t nodes);
  void admit(std::size_t type, const DeviceProfile& device);
  std::uint32_t slots_to_prefill(const TypePlan& plan,
                                 const RowCache& cache,
                                 const FeatureLayout& layout) const;
  void pack(TypePlan& plan, RowCache& cache, DiskFeatureStore& store, const NeededParts& needed);
  void check_stopped() const {
    if (options.stopped && options.stopped())
      throw Error(ErrorCode::kInterrupted, "interrupted while an epoch was planned");
  }

  GraphData::State& data;
  EpochPlanOptions options;
  MemoryLedger& ledger;
  std::vector<std::unique_ptr<TypePlan>> types;
  std::vector<std::uint64_t> batches;  // by window
  std::vector<std::string> reasons;
  std::uint64_t prefilled_bytes = 0;  // of caches, while planning goes on
  double seconds = 0;
};

void EpochPlan::State::sample(WindowSource& windows) {
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
  plan.next.emplace(options.folder, window_width(plan.steps.size()));
  const std::uint64_t most = plan.most_rows();
  const Charge lists = ledger.charge("epoch plan", most * 12).or_throw();
  const std::uint64_t range =
      std::clamp<std::uint64_t>(options.buffer_bytes / 2 / sizeof(std::uint32_t), 1, nodes);
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
void EpochPlan::State::admit(std::size_t type, const DeviceProfile& device) {
  TypePlan& plan = *types[type];
  RowCache& cache = *data.caches[type];
  auto& store = dynamic_cast<DiskFeatureStore&>(*data.features[type]);
  const FeatureLayout& layout = store.layout();
  const Charge lists = ledger.charge("epoch plan", plan.most_rows() * 44).or_throw();
  NeededParts needed(layout, &ledger);
  const auto by_id = [](std::uint64_t id) { return id; };
  std::vector<std::uint64_t> ids, missed, run, sorting;
  std::vector<std::uint32_t> places, missing;
  PlanEstimate windows;
  RepackWork repack;
  std::uint64_t missed_rows = 0;
  cache.clear();
  const std::uint32_t prefilled_slots = slots_to_prefill(plan, cache, layout);
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
    const auto is_prefilled = [&](std::uint32_t i) { return places[i] < prefilled_slots; };
    step.prefilled = static_cast<std::uint64_t>(
        std::find_if_not(missing.begin(),
                         missing.begin() + static_cast<std::ptrdiff_t>(admission.fresh),
                         is_prefilled) -
        missing.begin());
    for (std::size_t m = 0; m < step.prefilled; ++m)
      plan.prefill.push_back({missed[m], places[missing[m]]});
    run.assign(missed.begin() + static_cast<std::ptrdiff_t>(step.prefilled), missed.end());
    radix_sort(run, sorting, by_id);
    radix_sort(missed, sorting, by_id);
    for (const std::uint64_t row : missed) needed.add(row);
    step.first_missing = plan.missing.size();
    step.missing = run.size();
    plan.missing.append(std::span<const std::uint64_t>(run));

    const ReadShape shape = read_shape(missed, layout);
    const PlanEstimate direct = estimate_direct(device, shape);
    const PlanEstimate sweep = estimate_sweep(device, shape);
    const bool swept = options.plan == PlanChoice::kSweep ||
                       (options.plan != PlanChoice::kDirect && sweep.seconds < direct.seconds);
    const PlanEstimate& chosen = swept ? sweep : direct;
    step.plan = swept ? WindowPlan::kSweep : WindowPlan::kDirect;
    step.gap_bytes = swept ? sweep.gap_pages * static_cast<std::uint32_t>(kPageBytes) : 0;
    windows.seconds += chosen.seconds;
    windows.bytes_read += chosen.bytes_read;
    windows.requests += chosen.requests;
    repack.missed_rows += run.size();
    missed_rows += missed.size();
  }
  cache.clear();

  repack.runs = plan.steps.size();
  repack.row_bytes = layout.row_bytes;
  repack.table_bytes =
      std::min(needed.needed() * needed.rows_a_part() * layout.row_bytes, layout.file_bytes());
  const PlanEstimate packing = estimate_repack(device, repack);
  const bool room =
      PackedRows::least_buffer_bytes(plan.steps.size(), layout) <= options.buffer_bytes;
  const bool pack =
      options.plan == PlanChoice::kRepack ||
      (options.plan == PlanChoice::kAuto && room && packing.seconds < windows.seconds);
  const auto figures = [](const PlanEstimate& estimate) {
    return fmt::format("{:.1f} s for {} in {} requests",
                       estimate.seconds,
                       format_bytes(estimate.bytes_read + estimate.bytes_written),
                       format_count(estimate.requests));
  };
  reasons.push_back(
      fmt::format("{}: {} rows missed in {} windows; window by window {}; repacked {}{}",
                  pack                    ? "repack"
                  : windows.requests == 0 ? "nothing to read"
                                          : "window by window",
                  format_count(missed_rows),
                  format_count(plan.steps.size()),
                  figures(windows),
                  figures(packing),
                  room ? "" : ", but the buffers have no room for so many runs"));
  if (pack) this->pack(plan, cache, store, needed);
  plan.prefill = {};
}

// The first windows' rows go from the pass over the table straight into the cache, as far as its
// memory is not needed for packing: they are neither written nor read back.
std::uint32_t EpochPlan::State::slots_to_prefill(const TypePlan& plan,
                                                 const RowCache& cache,
                                                 const FeatureLayout& layout) const {
  const std::uint64_t bytes =
      options.buffer_bytes - std::min(options.buffer_bytes, prefilled_bytes);
  const std::uint64_t packing = PackedRows::good_buffer_bytes(plan.steps.size(), layout);
  if (options.plan == PlanChoice::kDirect || options.plan == PlanChoice::kSweep) return 0;
  const std::uint64_t room = bytes - std::min(bytes, packing);
  const std::uint64_t slots = room / (layout.row_bytes + 2 * sizeof(WantedRow));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, cache.slots()));
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
  state->sample(windows);
  for (std::size_t type = 0; type < state->types.size(); ++type) {
    if (!state->types[type]) continue;
    state->find_next_uses(*state->types[type], data.graph.schema->nodes[type].count);
    state->admit(type, device);
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
std::uint64_t EpochPlan::requests() const {
  return sum(state_->types,
             [](const TypePlan& plan) { return plan.packed ? plan.packed->requests() : 0; });
}

}  // namespace sluice
