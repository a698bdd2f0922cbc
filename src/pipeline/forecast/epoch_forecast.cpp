#include "pipeline/forecast/epoch_forecast.h"

#include "core/interrupt.h"
#include "pipeline/forecast/drawn_windows.h"
#include "pipeline/plan/epoch_cost.h"
#include "pipeline/plan/epoch_lists.h"
#include "pipeline/stream/batch_spool.h"

#include <algorithm>
#include <chrono>

namespace sluice {

struct EpochForecast::TypeModel {
  const RowSample* sample = nullptr;  // null: in memory
  RowPopularity popularity;

  double distinct(std::uint64_t batches) const {
    return sample->scale() * popularity.distinct(static_cast<double>(batches));
  }
};

EpochForecast::EpochForecast(const GraphData::State& data,
                             std::uint64_t most_rows,
                             MemoryLedger& ledger)
    : data_(data), ledger_(ledger), samples_(data.features.size()) {
  for (std::size_t type = 0; type < samples_.size(); ++type) {
    if (!data.on_disk(type)) continue;
    samples_[type] =
        std::make_unique<RowSample>(disk_store(data, type).layout(), most_rows, ledger);
  }
}

EpochForecast::~EpochForecast() = default;

void EpochForecast::add(const Batch& batch) {
  ++trials_;
  block_bytes_ += block_bytes(batch);
  std::vector<Array> numbers(samples_.size());  // of rows, as a window has them
  for (std::size_t type = 0; type < samples_.size(); ++type) {
    if (!samples_[type]) continue;
    const auto rows = batch.nodes[type].ids.as<std::uint64_t>();
    numbers[type] =
        Array::make(DType::kU32, {batch.nodes[type].ids.numel()}, &ledger_, "forecast").or_throw();
    block_bytes_ += numbers[type].bytes();
    samples_[type]->add(rows);
  }
  kept_bytes_ += BatchSpool::bytes_on_disk(batch, numbers);
}

// As WindowSampler fills windows: up to a number that doubles, while blocks and rows have room.
std::vector<std::uint64_t> EpochForecast::window_ends(const ForecastSetup& setup,
                                                      const std::vector<TypeModel>& models) const {
  const std::uint64_t bytes = std::max<std::uint64_t>(batch_bytes(), 1);
  const auto fits = [&](std::uint64_t batches) {
    if (batches * bytes > setup.limits.block_bytes) return false;
    for (std::size_t type = 0; type < models.size(); ++type) {
      if (models[type].sample != nullptr &&
          models[type].distinct(batches) > static_cast<double>(setup.limits.rows[type]))
        return false;
    }
    return true;
  };
  std::uint64_t most = 1;  // a first mini-batch is taken in any case
  for (std::uint64_t step = kMaxWindow; step > 0; step /= 2) {
    if (most + step <= kMaxWindow && fits(most + step)) most += step;
  }
  std::vector<std::uint64_t> ends;
  std::uint64_t ramp = setup.window > 0 ? setup.window : kFirstWindow;
  for (std::uint64_t end = 0; end < setup.batches;) {
    end = std::min(end + std::min(ramp, most), setup.batches);
    ends.push_back(end);
    if (setup.window == 0) ramp = std::min(2 * ramp, kMaxWindow);
  }
  return ends;
}

LoaderForecast EpochForecast::estimate(const ForecastSetup& setup) const {
  LoaderForecast forecast;
  forecast.batches = setup.batches;
  forecast.batches_sampled = trials_;
  std::vector<TypeModel> models;
  for (const auto& sample : samples_) {
    if (sample) {
      models.push_back({sample.get(), sample->popularity()});
    } else {
      models.push_back({nullptr, RowPopularity(std::vector<std::uint64_t>{1, 0})});
    }
  }
  const std::vector<std::uint64_t> ends = window_ends(setup, models);
  forecast.windows = ends.size();
  for (std::size_t type = 0; type < models.size(); ++type) {
    if (models[type].sample != nullptr && setup.slots[type] != 0)
      simulate(type, models[type], setup, ends, forecast);
  }
  return forecast;
}

// Lets a cache go through drawn windows as a plan or a RowFetcher would, without rows.
void EpochForecast::simulate(std::size_t type,
                             const TypeModel& model,
                             const ForecastSetup& setup,
                             std::span<const std::uint64_t> ends,
                             LoaderForecast& forecast) const {
  const RowSample& sample = *model.sample;
  const FeatureLayout& layout = disk_store(data_, type).layout();
  const Charge charge =
      ledger_.charge("forecast", sample.size() * (DrawnWindows::kBytesARow + 28)).or_throw();
  DrawnWindows windows(sample, model.popularity, ends);
  const auto slots = std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(static_cast<double>(setup.slots[type]) / sample.scale()),
      1,
      sample.size());
  const HotnessOf hotness = [&](std::uint64_t place) {
    return static_cast<std::uint64_t>(1e9 * windows.chance(place));
  };
  RowDirectory cache(static_cast<std::uint32_t>(slots),
                     0,
                     make_cache_policy(data_.options.cache, hotness),
                     &ledger_);
  EpochCost cost(layout, *data_.disk, data_.options.plan, &ledger_, sample.scale());
  const std::uint32_t prefilled = slots_to_prefill(data_.options.plan,
                                                   ends.size(),
                                                   layout,
                                                   setup.planning_bytes,
                                                   static_cast<std::uint32_t>(setup.slots[type]));
  const auto prefilled_of_sample =
      static_cast<std::uint32_t>(static_cast<double>(prefilled) / sample.scale());
  std::vector<std::uint64_t> places;
  std::vector<WantedRow> missed;
  std::vector<std::uint32_t> next_uses, slot_of, missing;
  std::uint64_t wanted = 0;
  std::uint64_t swept = 0;
  for (std::size_t window = 0; window < ends.size(); ++window) {
    windows.next(places, next_uses);
    // By chance a window may ask for more than the scaled cache holds; those are missed.
    if (places.size() > slots) places.resize(slots);
    next_uses.resize(places.size());
    slot_of.resize(places.size());
    wanted += places.size();
    const RowDirectory::Admission admission =
        setup.planned ? cache.admit(places, next_uses, nullptr, slot_of, missing)
                      : cache.admit(places, {}, &windows, slot_of, missing);
    const std::uint64_t straight =
        count_prefilled(admission, missing, slot_of, prefilled_of_sample);
    missed.clear();
    for (const std::uint32_t i : missing) missed.push_back({sample.row_at(places[i]), i});
    std::ranges::sort(missed, {}, &WantedRow::row);
    swept += cost.add(missed, missed.size() - straight).plan == WindowPlan::kSweep ? 1u : 0u;
  }
  const EpochCost::Decision decision =
      setup.planned ? cost.decide(setup.planning_bytes) : cost.decide_by_window();
  const PlanEstimate reading = decision.pack ? decision.packing : cost.windows();
  const std::string& name = data_.graph.schema->nodes[type].name;
  wanted = static_cast<std::uint64_t>(static_cast<double>(wanted) * sample.scale());
  forecast.rows_wanted += wanted;
  forecast.rows_missed += cost.missed_rows();
  forecast.cache_rows += setup.slots[type];
  forecast.bytes_read += reading.bytes_read;
  forecast.bytes_written += reading.bytes_written;
  forecast.requests += reading.requests;
  forecast.seconds += reading.seconds;
  forecast.windows_swept = std::max(forecast.windows_swept, decision.pack ? 0 : swept);
  forecast.windows_packed =
      std::max<std::uint64_t>(forecast.windows_packed, decision.pack ? ends.size() : 0);
  forecast.plans.push_back(name + ": " + decision.why);
  if (!setup.planned) return;
  const EpochLists::Bytes lists =
      EpochLists::bytes(data_.graph.schema->nodes[type].count,
                        {.windows = ends.size(),
                         .wanted = wanted,
                         .missed = cost.missed_rows(),
                         .packed = decision.pack ? cost.packed_rows() : 0},
                        setup.planning_bytes);
  forecast.bytes_read += lists.read;
  forecast.bytes_written += lists.written;
}

namespace {

constexpr std::uint64_t kMostRows = 4 << 20;  // of a table: more tell little more
constexpr std::uint64_t kBytesARow = 100;

TopologyStats topology_stats(const GraphData::State& data) {
  TopologyStats sum;
  for (const auto& topology : data.graph.relations) sum += topology->stats();
  return sum;
}

struct TopologyTrial {
  TopologyStats before;       // of the later half
  std::uint64_t batches = 0;  // of the later half
};

// Edges on disk, read by pages: what the later half of the trials read tells of the batches to
// come, as their cache fills while the first are sampled.
void add_paged_edges(const TopologyTrial& trial,
                     const TopologyStats& now,
                     const ForecastSetup& setup,
                     const DiskProfile& disk,
                     LoaderForecast& forecast) {
  const TopologyStats read = now - trial.before;
  if (read.requests == 0) return;
  const double epochs = static_cast<double>(setup.batches) / static_cast<double>(trial.batches);
  const double requests = epochs * static_cast<double>(read.requests);
  const double bytes = epochs * static_cast<double>(read.bytes_read);
  forecast.bytes_read += static_cast<std::uint64_t>(bytes);
  forecast.requests += static_cast<std::uint64_t>(requests);
  forecast.seconds += requests * disk.seconds_for(bytes / requests);
}

// What a planned epoch keeps of its sampled batches, so that edges are read once.
void add_kept_batches(std::uint64_t edge_bytes,
                      std::uint64_t kept_bytes,
                      const ForecastSetup& setup,
                      const DiskProfile& disk,
                      LoaderForecast& forecast) {
  const std::uint64_t kept = setup.batches * kept_bytes;
  forecast.bytes_read += edge_bytes + kept;
  forecast.bytes_written += kept;
  forecast.seconds += static_cast<double>(edge_bytes + kept) / disk.rates().sequential_read;
  if (disk.rates().sequential_write > 0)
    forecast.seconds += static_cast<double>(kept) / disk.rates().sequential_write;
}

}  // namespace

LoaderForecast forecast_epoch(GraphData::State& data,
                              WindowSampler& sampler,
                              const ForecastSetup& setup,
                              double seconds,
                              MemoryLedger& ledger) {
  const auto begin = std::chrono::steady_clock::now();
  // Half of what is free: the trial mini-batches take some.
  EpochForecast forecast(
      data, std::clamp<std::uint64_t>(ledger.available() / 2 / kBytesARow, 1, kMostRows), ledger);
  // Groups as they will be sampled, from all over the epoch.
  WindowSampler::Keeping keeping;
  if (setup.planned && sampler.worth_keeping()) {
    keeping =
        sampler.plan_keeping(setup.planning_room, block_bytes(sampler.sample_one(0)), setup.limits);
    sampler.set_group(keeping.group);
  }
  const std::uint64_t group =
      std::min<std::uint64_t>({sampler.group_size(), setup.batches, EpochForecast::kMostTrials});
  const std::uint64_t groups =
      std::clamp<std::uint64_t>(EpochForecast::kMostTrials / group, 1, setup.batches / group);
  TopologyTrial later{topology_stats(data)};
  std::uint64_t earlier_batches = 0;
  for (std::uint64_t done = 0; done < groups; ++done) {
    if (done == groups / 2) {
      later.before = topology_stats(data);
      earlier_batches = forecast.trials();
    }
    const std::uint64_t first = groups == 1 ? 0 : (setup.batches - group) / (groups - 1) * done;
    for (const Batch& batch : sampler.sample_some(first, group)) forecast.add(batch);
    throw_if_interrupted();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() > seconds) break;
  }
  later.batches = forecast.trials() - earlier_batches;
  const TopologyStats read = topology_stats(data);
  LoaderForecast estimate = forecast.estimate(setup);
  if (keeping.edge_bytes == 0) add_paged_edges(later, read, setup, *data.disk, estimate);
  if (setup.planned && sampler.worth_keeping())
    add_kept_batches(keeping.edge_bytes, forecast.kept_bytes(), setup, *data.disk, estimate);
  return estimate;
}

}  // namespace sluice
