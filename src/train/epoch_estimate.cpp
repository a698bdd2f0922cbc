#include "train/epoch_estimate.h"

#include "samplers/bucket_links.h"
#include "train/measured_needs.h"
#include "train/partition_mode.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kSteps = 4;        // after one that fills caches and pools
constexpr double kLongStep = 5;            // seconds: one such is enough
constexpr std::uint64_t kSamples = 3;      // likewise after one
constexpr std::uint64_t kSidesOfRows = 3;  // of the last generation, of the best, and what changes
constexpr std::uint64_t kCheckpoints = 3;  // the last, the best, and the one that is written
constexpr std::uint64_t kEpochsKept = 2;   // scratch files of this epoch and the next

double seconds_from(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double time_sampling(Loader& loader) {
  (void)loader.probe(1);
  const auto begin = SteadyClock::now();
  const LoaderProbe probe = loader.probe(kSamples);
  return probe.batches == 0 ? 0 : seconds_from(begin) / static_cast<double>(probe.batches);
}

// As Trainer::step(). Rows on disk have no folder yet, so their update is left out.
double time_step(Parts& parts, const Batch& batch) {
  const auto begin = SteadyClock::now();
  (void)parts.device.guarded([&] {
    parts.model->train();
    parts.model->set_step_key(parts.key());
    parts.rows->begin(batch, nn::Gradients::kWanted);
    parts.state.begin(batch);
    const torch::Tensor loss = parts.task->training_loss(*parts.model, batch, parts.key());
    loss.backward();
    parts.optimizer->step();
    parts.optimizer->zero_grad();
    if (parts.placement.embeddings == Placement::kMemory) {
      parts.rows->step();
    } else {
      parts.rows->end();
    }
    parts.state.end();
    return loss.item<float>();  // waits for a GPU
  });
  return seconds_from(begin);
}

std::uint64_t tensor_bytes(const NamedTensors& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += tensor.nbytes();
  return sum;
}

// Requests here and there, but no longer than going through all of a table.
double disk_seconds_of(double requests, double each, double table_bytes, double rate) {
  const double random = requests * each;
  return rate > 0 ? std::min(random, table_bytes / rate) : random;
}

// Whole partitions come and go. Each is priced as it comes: what is loaded first may be there
// still.
void add_partitions(const Parts& parts, const DiskProfile* disk, EpochEstimate& estimate) {
  const auto partitions = static_cast<double>(parts.options.embedding.partitions);
  const double bytes = static_cast<double>(partition_loads(parts)) *
                       static_cast<double>(parts.tables.needs().disk) / partitions;
  estimate.bytes_read += static_cast<std::uint64_t>(bytes);
  estimate.bytes_written += static_cast<std::uint64_t>(bytes);
  if (disk == nullptr) return;
  for (const double rate : {disk->rates().sequential_read, disk->rates().sequential_write})
    if (rate > 0) estimate.disk_seconds += bytes / rate;
}

void add_rows(const Parts& parts, const DiskProfile* disk, EpochEstimate& estimate) {
  if (parts.placement.rows == RowsMode::kPartitions &&
      parts.placement.embeddings == Placement::kDisk)
    return add_partitions(parts, disk, estimate);
  const auto batches = static_cast<double>(estimate.batches);
  std::vector<RowTables::Table> tables = parts.tables.tables();
  tables.insert(tables.end(), parts.tables.state().begin(), parts.tables.state().end());
  for (const RowTables::Table& table : tables) {
    if (!table.rows || table.rows->in_memory()) continue;
    const TableRowsTraffic traffic = table.rows->traffic();
    const auto group = static_cast<double>(traffic.group_bytes);
    estimate.bytes_read += static_cast<std::uint64_t>(batches * traffic.read * group);
    estimate.bytes_written += static_cast<std::uint64_t>(batches * traffic.written * group);
    if (disk == nullptr) continue;
    const DiskRates& rates = disk->rates();
    const double table_bytes = static_cast<double>(traffic.groups) * group;
    const auto seconds = [&](double requests, double groups, double rate) {
      if (requests <= 0) return 0.0;
      const double each = disk->seconds_for(groups * group / requests);
      return disk_seconds_of(requests, each, table_bytes, rate);
    };
    estimate.disk_seconds +=
        batches * (seconds(traffic.reads, traffic.read, rates.sequential_read) +
                   seconds(traffic.writes, traffic.written, rates.sequential_write));
  }
}

}  // namespace

BatchTimes time_batches(Parts& parts) {
  BatchTimes times;
  auto loader = parts.training_loader(parts.placement.phases.loader());
  if (loader->num_batches() == 0) return times;
  times.sample = time_sampling(*loader);
  const std::shared_ptr<const Batch> batch = first_batch(*loader, parts.placement.phases);
  loader.reset();  // steps are timed without what sampling takes
  if (!batch) return times;
  std::vector<double> seconds{time_step(parts, *batch)};
  if (seconds.front() < kLongStep) {
    seconds.clear();
    for (std::uint64_t i = 0; i < kSteps; ++i) seconds.push_back(time_step(parts, *batch));
  }
  times.steps = seconds.size();
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::ranges::nth_element(seconds, middle);
  times.step = *middle;
  return times;
}

EpochEstimate estimate_epoch(const Parts& parts,
                             const BatchTimes& timed,
                             const LoaderForecast& loader,
                             const DiskProfile* disk) {
  EpochEstimate estimate;
  estimate.batches = loader.batches;
  estimate.timed = timed;
  const auto batches = static_cast<double>(loader.batches);
  estimate.step_seconds = batches * timed.step;
  estimate.sample_seconds = batches * timed.sample;
  estimate.disk_seconds = loader.seconds;
  estimate.bytes_read = loader.bytes_read;
  estimate.bytes_written = loader.bytes_written;
  add_rows(parts, disk, estimate);
  const double computing = parts.placement.phases.queues()
                               ? std::max(estimate.step_seconds, estimate.sample_seconds)
                               : estimate.step_seconds + estimate.sample_seconds;
  estimate.seconds = std::max(computing, estimate.disk_seconds);
  const std::uint64_t buckets =
      parts.placement.rows == RowsMode::kPartitions
          ? BucketLinks::disk_bytes(parts.count(Part::kTrain),
                                    static_cast<std::uint32_t>(parts.options.embedding.partitions))
          : 0;
  estimate.disk_bytes =
      buckets + kSidesOfRows * parts.tables.needs().disk + kEpochsKept * loader.bytes_written +
      kCheckpoints * (tensor_bytes(parts.weights()) + tensor_bytes(parts.optimizer->named_state()));
  return estimate;
}

}  // namespace sluice
