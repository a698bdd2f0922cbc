#include "train/measured_needs.h"

#include "budget/memory_ratios.h"
#include "core/batch_fields.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/stream/window.h"
#include "pipeline/window_budget.h"
#include "samplers/bucket_links.h"
#include "samplers/bucket_tour.h"
#include "tasks/encoder_task.h"
#include "train/cached_tables.h"
#include "train/trial.h"

#include <algorithm>
#include <memory>

namespace sluice {
namespace {

std::uint64_t bytes_of(const NamedTensors& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors) sum += tensor.nbytes();
  return sum;
}

// Bytes of a mini-batch's features, and of its ids and blocks.
struct BatchBytes {
  std::uint64_t features = 0, blocks = 0;
};

BatchBytes bytes_of(const Batch& batch) {
  BatchBytes sum;
  for_each_array(batch, [&](const Array& array, BatchPart part) {
    if (part == BatchPart::kFeatures) sum.features += array.bytes();
    if (part == BatchPart::kSampled || part == BatchPart::kDerived) sum.blocks += array.bytes();
  });
  return sum;
}

// What a step took with the first mini-batch, by how much larger the largest one is.
std::uint64_t larger(std::uint64_t bytes, std::uint64_t first, std::uint64_t largest) {
  if (first == 0 || largest <= first) return bytes;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(largest) /
                                    static_cast<double>(first));
}

// As little as goes on the way: no rows are read where there is no room for windows of them.
std::shared_ptr<const Batch> first_batch(Loader& loader,
                                         const LoaderProbe& probe,
                                         const MemoryPhases& phases) {
  using memory_ratios::raised;
  if (!phases.measures_by_windows()) return loader.blank();
  loader.set_memory({raised(probe.window_bytes), 1, raised(probe.transfer_bytes)});
  loader.start({});
  std::shared_ptr<const Batch> first = loader.next();
  loader.stop();
  return first;
}

// By features; where a mini-batch has none, as its nodes have learned rows alone, by its ids and
// blocks.
std::uint64_t of_largest(std::uint64_t step, const BatchBytes& first, const LoaderProbe& largest) {
  return first.features != 0 ? larger(step, first.features, largest.feature_bytes)
                             : larger(step, first.blocks, largest.block_bytes);
}

// What a mini-batch asks of each feature table: the most of several. Its lists are as long wherever
// they are.
void note_asked_rows(Parts& parts, const Batch& batch, MemoryNeeds& needs) {
  const BatchSizes sizes(batch, parts.data.state().tables);
  needs.asked_rows.resize(sizes.rows.size());
  for (std::size_t table = 0; table < sizes.rows.size(); ++table)
    needs.asked_rows[table] = std::max(needs.asked_rows[table], sizes.rows[table]);
}

using Try = TrialPeaks (*)(Parts&, const Batch&);

LoaderProbe probe_and_try(Parts& parts,
                          std::unique_ptr<Loader> loader,
                          Try try_step,
                          MemoryNeeds& needs) {
  LoaderProbe probe = loader->probe(needs.phases.probed());
  const std::shared_ptr<const Batch> first = first_batch(*loader, probe, needs.phases);
  loader.reset();  // a step is tried without what sampling takes
  if (first) note_asked_rows(parts, *first, needs);
  TrialPeaks peaks;
  if (first) peaks = try_step(parts, *first);
  const BatchBytes bytes = first ? bytes_of(*first) : BatchBytes();
  needs.tried = std::max(needs.tried, peaks.step);
  needs.step = std::max(needs.step, of_largest(peaks.step, bytes, probe));
  needs.device_tensors = std::max(needs.device_tensors, peaks.device_pool);
  return probe;
}

}  // namespace

std::shared_ptr<const Batch> first_batch(Loader& loader, const MemoryPhases& phases) {
  return first_batch(loader, loader.probe(phases.probed()), phases);
}

MemoryNeeds measure_needs(Parts& parts, const Work& work) {
  MemoryNeeds needs;
  needs.phases = parts.placement.phases;
  needs.trace = work.trace_bytes;
  needs.resident = parts.tensors.bytes();
  needs.weights = bytes_of(parts.weights());
  const bool trains = work.kind == Work::Kind::kTrain;
  // A snapshot cache of edges is made by the first loader that draws from it.
  if (trains) (void)parts.training_loader({});
  // All that is charged but for tensors, whose line is another.
  const std::string relations = relations_text(parts.dataset.schema(), parts.placement.relations);
  for (const MemoryLedger::Entry& entry : parts.ledger->entries()) {
    if (entry.bytes != 0 && entry.name != nn::LedgerAllocation::kName)
      needs.loaded.push_back({entry.name, entry.bytes, loaded_note(entry.name, relations)});
  }
  needs.reading_back = reading_back_bytes(parts.data.state());
  // One after the other, so that only one mini-batch is there; evaluation first: see TrialPeaks.
  const LoaderMemory memory = needs.phases.loader();
  if (parts.count(work.evaluated) > 0) {
    needs.evaluation = probe_and_try(
        parts, parts.evaluation_loader(work.evaluated, memory), try_evaluation, needs);
  }
  if (trains) {
    needs.training = probe_and_try(parts, parts.training_loader(memory), try_training, needs);
    needs.copied = needs.resident;  // weights and state, put back after the step
  }
  // Whoever evaluates a stored run keeps what its events change apart.
  const bool of_training = work.evaluated == Part::kTrain || work.evaluated == Part::kAll;
  const std::uint64_t events = of_training ? parts.count(work.evaluated)
                                           : parts.count(Part::kValid) + parts.count(Part::kTest);
  if (!trains && parts.state.any())
    needs.loaded.push_back({"rows of state",
                            parts.state.apart_bytes(parts.dataset.schema(), events),
                            "by the events of the evaluation"});
  if (const auto* encoder = dynamic_cast<const tasks::EncoderTask*>(parts.task.get())) {
    const std::uint64_t rows = std::max(parts.count(work.evaluated), parts.count(Part::kTest));
    needs.loaded.push_back(
        {"embeddings", encoder->kept_bytes(rows), "of an evaluation, until its end"});
  }
  // Last: tables on disk tell by what the trials asked them for.
  needs.learned = parts.tables.needs();
  if (trains && parts.placement.rows == RowsMode::kPartitions) {
    const std::uint64_t links = parts.count(Part::kTrain);
    const auto partitions = static_cast<std::uint32_t>(parts.options.embedding.partitions);
    needs.learned.buckets =
        BucketLinks::memory_bytes(links, partitions) + BucketTour::memory_bytes(links, partitions);
  }
  needs.learned.on_device = parts.rows->device_bytes();
  needs.counted = counting_bytes(parts);
  needs.learned.ahead = needs.learned.least != 0 && needs.phases.queues();
  return needs;
}

}  // namespace sluice
