// Loader::forecast: what an epoch would ask of the disk, from a few mini-batches of it.
// RowPopularity says how likely each row is asked for; windows are then drawn by these chances and
// go through a RowDirectory of the size and policy that a run's would have, and EpochCost prices
// what it misses. Where tables are large a sample of their rows stands for all (after SHARDS,
// Waldspurger et al. 2015), the cache scaled down with it.
//
// Memory: some 80 bytes a row of the sample, charged as "forecast" and "feature cache".
#include "core/interrupt.h"
#include "forecast/drawn_windows.h"
#include "pipeline/loader_state.h"
#include "pipeline/stream/window_keeper.h"

#include <sluice/cache_policy.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kMostTrials = 64;     // mini-batches: more tell little more
constexpr std::uint64_t kMostRows = 4 << 20;  // of a table, likewise
constexpr std::uint64_t kBytesARow = 100;

// What is known of an epoch before it is run.
struct Epoch {
  std::uint64_t batches = 0;
  std::uint64_t window = 0;          // mini-batches as the options ask, or 0
  WindowLimits limits;               // of windows
  std::vector<std::uint64_t> slots;  // of the cache, by feature table; 0: none
  bool planned = false;              // whether all next uses would be known
  std::uint64_t planning_room = 0;   // free while it is planned
  std::uint64_t planning_bytes = 0;  // of that, for lists and packing
};

// Trial mini-batches, from all over an epoch.
struct Trials {
  std::vector<std::optional<RowSample>> samples;  // by feature table; none of those in memory
  std::uint64_t batches = 0;
  std::uint64_t block_bytes = 0;       // of all, row numbers included
  std::uint64_t kept_bytes = 0;        // of all, as they are kept on disk
  std::uint64_t later_batches = 0;     // of the later half
  TopologyStats later;                 // what that read of edges on disk
  std::optional<KeepingPlan> keeping;  // of an epoch whose mini-batches are kept

  void add(const Batch& batch, FeatureTables tables, MemoryLedger& ledger);
};

void Trials::add(const Batch& batch, FeatureTables tables, MemoryLedger& ledger) {
  ++batches;
  block_bytes += sluice::block_bytes(batch);
  std::vector<Array> numbers(samples.size());  // of rows, as a window has them
  for (std::size_t table = 0; table < samples.size(); ++table) {
    if (!samples[table]) continue;
    const auto rows = static_cast<std::int64_t>(count_rows(batch, tables[table]));
    numbers[table] = Array::make(DType::kU32, {rows}, &ledger, "forecast").or_throw();
    block_bytes += numbers[table].bytes();
    samples[table]->begin_trial();
    for (const std::span<const std::uint64_t> list : wanted_rows(batch, tables[table]))
      samples[table]->add(list);
  }
  kept_bytes += BatchSpool::bytes_on_disk(batch, numbers);
}

// For at most so many seconds, at least one group: edges on disk are read for it.
Trials sample_trials(GraphData::State& data,
                     BatchSampler& sampler,
                     const Epoch& epoch,
                     double seconds,
                     MemoryLedger& ledger) {
  const auto begin = std::chrono::steady_clock::now();
  Trials trials;
  // Half of what is free: the trial mini-batches take some.
  const std::uint64_t rows =
      std::clamp<std::uint64_t>(ledger.available() / 2 / kBytesARow, 1, kMostRows);
  trials.samples.resize(data.tables.size());
  for (std::size_t table = 0; table < trials.samples.size(); ++table) {
    if (data.on_disk(table))
      trials.samples[table].emplace(disk_store(data, table).layout(), rows, ledger);
  }
  // Groups as they will be sampled.
  if (epoch.planned && sampler.worth_keeping()) {
    trials.keeping = plan_keeping(
        sampler, epoch.planning_room, block_bytes(sampler.sample_one(0)), epoch.limits);
    sampler.set_group(trials.keeping->group);
  }
  const std::uint64_t group =
      std::min<std::uint64_t>({sampler.group_size(), epoch.batches, kMostTrials});
  const std::uint64_t groups =
      std::clamp<std::uint64_t>(kMostTrials / group, 1, epoch.batches / group);
  TopologyStats before;
  std::uint64_t earlier = 0;
  for (std::uint64_t done = 0; done < groups; ++done) {
    if (done == groups / 2) {
      before = DataCounts::topology_of(data);
      earlier = trials.batches;
    }
    const std::uint64_t first = groups == 1 ? 0 : (epoch.batches - group) / (groups - 1) * done;
    for (const Batch& batch : sampler.sample(0, first, group))
      trials.add(batch, data.tables, ledger);
    throw_if_interrupted();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() > seconds) break;
  }
  trials.later_batches = trials.batches - earlier;
  trials.later = DataCounts::topology_of(data) - before;
  return trials;
}

using Popularities = std::vector<std::optional<RowPopularity>>;  // by feature table

// As WindowSampler fills windows: up to a number that doubles, while blocks and rows have room.
// Returns by window the mini-batch after its last.
std::vector<std::uint64_t> window_ends(const Epoch& epoch,
                                       const Trials& trials,
                                       const Popularities& popularities) {
  const std::uint64_t bytes = std::max<std::uint64_t>(trials.block_bytes / trials.batches, 1);
  const auto fits = [&](std::uint64_t batches) {
    if (batches * bytes > epoch.limits.block_bytes) return false;
    for (std::size_t table = 0; table < popularities.size(); ++table) {
      if (popularities[table] &&
          trials.samples[table]->scale() *
                  popularities[table]->distinct(static_cast<double>(batches)) >
              static_cast<double>(epoch.limits.rows[table]))
        return false;
    }
    return true;
  };
  std::uint64_t most = 1;  // a first mini-batch is taken in any case
  for (std::uint64_t step = kMaxWindow; step > 0; step /= 2) {
    if (most + step <= kMaxWindow && fits(most + step)) most += step;
  }
  std::vector<std::uint64_t> ends;
  std::uint64_t ramp = epoch.window > 0 ? epoch.window : kFirstWindow;
  for (std::uint64_t end = 0; end < epoch.batches;) {
    end = std::min(end + std::min(ramp, most), epoch.batches);
    ends.push_back(end);
    if (epoch.window == 0) ramp = std::min(2 * ramp, kMaxWindow);
  }
  return ends;
}

// What a table's misses cost.
struct Missed {
  EpochCost cost;
  std::uint64_t wanted = 0;  // rows of the sample
  std::uint64_t swept = 0;   // windows
};

// Lets a directory go through drawn windows as a plan or a RowFetcher would.
Missed go_through(const GraphData::State& data,
                  std::size_t table,
                  const RowSample& sample,
                  const RowPopularity& popularity,
                  const Epoch& epoch,
                  std::span<const std::uint64_t> ends,
                  MemoryLedger& ledger) {
  const FeatureLayout& layout = disk_store(data, table).layout();
  const Charge charge =
      ledger.charge("forecast", sample.size() * (DrawnWindows::kBytesARow + 28)).or_throw();
  const auto scaled = [&](std::uint64_t rows) {
    return static_cast<std::uint64_t>(static_cast<double>(rows) / sample.scale());
  };
  DrawnWindows windows(sample, popularity, ends);
  const std::uint64_t slots =
      std::clamp<std::uint64_t>(scaled(epoch.slots[table]), 1, sample.size());
  const HotnessOf hotness = [&](std::uint64_t place) {
    return static_cast<std::uint64_t>(1e9 * windows.chance(place));
  };
  RowDirectory directory(
      static_cast<std::uint32_t>(slots), 0, data.options.cache->make(hotness), &ledger);
  const auto prefilled = static_cast<std::uint32_t>(
      scaled(slots_to_prefill(data.options.plan,
                              ends.size(),
                              layout,
                              epoch.planning_bytes,
                              static_cast<std::uint32_t>(epoch.slots[table]))));
  Missed all{EpochCost(layout, *data.disk, data.options.plan, &ledger, sample.scale())};
  std::vector<std::uint64_t> places;
  std::vector<WantedRow> missed;
  std::vector<std::uint32_t> next_uses, slot_of, missing;
  for (std::size_t window = 0; window < ends.size(); ++window) {
    windows.next(places, next_uses);
    // By chance a window may ask for more than the scaled cache holds; those are missed.
    if (places.size() > slots) places.resize(slots);
    next_uses.resize(places.size());
    slot_of.resize(places.size());
    all.wanted += places.size();
    const RowDirectory::Admission admission =
        epoch.planned ? directory.admit(places, next_uses, nullptr, slot_of, missing)
                      : directory.admit(places, {}, &windows, slot_of, missing);
    missed.clear();
    for (const std::uint32_t i : missing) missed.push_back({sample.row_at(places[i]), i});
    std::ranges::sort(missed, {}, &WantedRow::row);
    const std::uint64_t straight = count_prefilled(admission, missing, slot_of, prefilled);
    const EpochCost::Choice choice = all.cost.add(missed, missed.size() - straight);
    all.swept += choice.plan == WindowPlan::kSweep ? 1u : 0u;
  }
  return all;
}

void add_features(const FeatureTable& table,
                  const Missed& missed,
                  double scale,
                  const Epoch& epoch,
                  LoaderForecast& forecast) {
  const EpochCost& cost = missed.cost;
  const EpochCost::Decision decision =
      epoch.planned ? cost.decide(epoch.planning_bytes) : cost.decide_by_window();
  const PlanEstimate reading = decision.pack ? decision.packing : cost.windows();
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(missed.wanted) * scale);
  forecast.rows_wanted += wanted;
  forecast.rows_missed += cost.missed_rows();
  forecast.bytes_read += reading.bytes_read;
  forecast.bytes_written += reading.bytes_written;
  forecast.requests += reading.requests;
  forecast.seconds += reading.seconds;
  std::uint64_t& windows = decision.pack ? forecast.windows_packed : forecast.windows_swept;
  windows = std::max(windows, decision.pack ? forecast.windows : missed.swept);
  forecast.plans.push_back(table.name + ": " + decision.why);
  if (!epoch.planned) return;
  const EpochLists::Bytes lists =
      EpochLists::bytes(table.rows(),
                        {.windows = forecast.windows,
                         .wanted = wanted,
                         .missed = cost.missed_rows(),
                         .packed = decision.pack ? cost.packed_rows() : 0},
                        epoch.planning_bytes);
  forecast.bytes_read += lists.read;
  forecast.bytes_written += lists.written;
}

// Edges on disk, read by pages: what the later half of the trials read tells of the batches to
// come, as their cache fills while the first are sampled.
void add_paged_edges(const Trials& trials,
                     const Epoch& epoch,
                     const DiskProfile& disk,
                     LoaderForecast& forecast) {
  if (trials.later.requests == 0) return;
  const double epochs =
      static_cast<double>(epoch.batches) / static_cast<double>(trials.later_batches);
  const double requests = epochs * static_cast<double>(trials.later.requests);
  const double bytes = epochs * static_cast<double>(trials.later.bytes_read);
  forecast.bytes_read += static_cast<std::uint64_t>(bytes);
  forecast.requests += static_cast<std::uint64_t>(requests);
  forecast.seconds += requests * disk.seconds_for(bytes / requests);
}

// What a planned epoch keeps of its sampled batches, so that edges are read once.
void add_kept_batches(const Trials& trials,
                      const Epoch& epoch,
                      const DiskRates& rates,
                      LoaderForecast& forecast) {
  const std::uint64_t kept = epoch.batches * (trials.kept_bytes / trials.batches);
  const std::uint64_t read = trials.keeping->edge_bytes + kept;
  forecast.bytes_read += read;
  forecast.bytes_written += kept;
  forecast.seconds += static_cast<double>(read) / rates.sequential_read;
  if (rates.sequential_write > 0)
    forecast.seconds += static_cast<double>(kept) / rates.sequential_write;
}

}  // namespace

LoaderForecast Loader::forecast(double seconds) {
  State& state = *state_;
  GraphData::State& data = state.data;
  LoaderForecast forecast;
  forecast.batches = num_batches();
  if (num_batches() == 0 || !data.reads()) return forecast;
  WindowBudget budget = state.split(0);
  Epoch epoch;
  epoch.batches = num_batches();
  epoch.window = static_cast<std::uint64_t>(state.options.window);
  epoch.slots =
      data.slots_for(budget.cache_bytes, budget.cached_bytes, budget.least_slots, state.ledger);
  epoch.limits = within(std::move(budget.limits), epoch.slots);
  epoch.planned = is_planned(data, Phases(state.memory), num_batches());
  // As much as there will be once the caches are made.
  std::uint64_t bookkeeping = 0;
  for (std::size_t table = 0; table < epoch.slots.size(); ++table) {
    if (epoch.slots[table] == 0) continue;
    bookkeeping += RowDirectory::bytes_of(epoch.slots[table]) +
                   RowDirectory::bytes_of_table(data.tables[table].rows());
    forecast.cache_rows += epoch.slots[table];
  }
  const std::uint64_t room = state.planning.room();
  epoch.planning_room = room - std::min(room, bookkeeping);
  epoch.planning_bytes = state.planning.share_of(epoch.planning_room);

  const Trials trials = sample_trials(data, state.sampler, epoch, seconds, state.ledger);
  forecast.batches_sampled = trials.batches;
  Popularities popularities(trials.samples.size());
  for (std::size_t table = 0; table < popularities.size(); ++table) {
    if (trials.samples[table]) popularities[table] = trials.samples[table]->popularity();
  }
  const std::vector<std::uint64_t> ends = window_ends(epoch, trials, popularities);
  forecast.windows = ends.size();
  for (std::size_t table = 0; table < popularities.size(); ++table) {
    if (!popularities[table] || epoch.slots[table] == 0) continue;
    const RowSample& sample = *trials.samples[table];
    const Missed missed =
        go_through(data, table, sample, *popularities[table], epoch, ends, state.ledger);
    add_features(data.tables[table], missed, sample.scale(), epoch, forecast);
  }
  if (!trials.keeping || trials.keeping->edge_bytes == 0)
    add_paged_edges(trials, epoch, *data.disk, forecast);
  if (trials.keeping) add_kept_batches(trials, epoch, data.disk->rates(), forecast);
  return forecast;
}

}  // namespace sluice
