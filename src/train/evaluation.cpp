#include "train/evaluation.h"

#include "core/interrupt.h"
#include "pipeline/stage_clock.h"
#include "tasks/embedding_metrics.h"
#include "tasks/encoder_task.h"
#include "train/batches_ahead.h"
#include "train/checks.h"
#include "train/probe_beside.h"

#include <sluice/nn/batch_features.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace sluice {
namespace {

// A node as the user calls it, or its number where there is no room for the ids.
std::string name_of_node(const Parts& parts, std::size_t type, std::uint64_t node) {
  try {
    return parts.dataset.ids(parts.dataset.schema().nodes.at(type).name).text(node);
  } catch (const Error&) {
    return fmt::format("{} (as stored)", node);
  }
}

// u8, a row each: whether all of it is finite.
Array finite_rows(const torch::Tensor& rows) {
  return nn::as_array(rows.isfinite().all(1).to(torch::kUInt8));
}

void count_not_finite(const Array& finite, const Array& nodes, NotFinite& counted) {
  const auto rows = finite.as<std::uint8_t>();
  const auto bad = std::ranges::find(rows, 0);
  if (bad == rows.end()) return;
  counted.rows += static_cast<std::uint64_t>(std::ranges::count(rows, 0));
  if (!counted.first)
    counted.first = nodes.as<std::uint64_t>()[static_cast<std::size_t>(bad - rows.begin())];
}

}  // namespace

const char* const kMendNotFinite =
    "look for NaN, infinite or huge values in the features (sluice-prep import names them unless "
    "not_finite = \"keep\"), or lower train.optimizer.lr";

std::string NotFinite::text(const Parts& parts, Part part) const {
  const IdColumn of = parts.task->prediction_ids().front();
  return fmt::format("outputs of {} of {} {} {} are not finite, first of {} {}",
                     format_count(rows),
                     format_count(parts.count(part)),
                     to_string(part),
                     of.name == "id" ? "nodes" : "links",
                     of.name == "id" ? "node" : of.name,
                     first ? name_of_node(parts, of.type, *first) : "unknown");
}

std::string node_of_bad_features(const Parts& parts, const Batch& batch) {
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const BatchNodes& nodes = batch.nodes[type];
    for (std::size_t group = 0; group < nodes.features.size(); ++group) {
      const torch::Tensor features = nn::features_of(batch, type, group).cpu();
      if (features.dim() != 2) continue;
      const Array finite = finite_rows(features);
      const Array ids = nn::as_array(nn::as_tensor(nodes.ids));
      const auto rows = finite.as<std::uint8_t>();
      const auto bad = std::ranges::find(rows, 0);
      if (bad == rows.end()) continue;
      const auto row = static_cast<std::size_t>(bad - rows.begin());
      return name_of_node(parts, type, ids.as<std::uint64_t>()[row]);
    }
  }
  return {};
}

std::shared_ptr<const Batch> next_batch(Loader& loader, StageClock& steps) {
  const auto asked = StageClock::Clock::now();
  std::shared_ptr<const Batch> batch = loader.next();
  steps.count_starved(asked, StageClock::Clock::now());
  return batch;
}

namespace {

LoaderStats go_through(Parts& parts,
                       Part part,
                       const LoaderMemory& memory,
                       std::uint64_t batches_xxh3,
                       ProgressStyle progress,
                       const std::function<void(const Batch& batch)>& take) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  if (const auto head = parts.task->head()) head->eval();
  parts.model->set_step_key(parts.key());
  Progress bar(progress, to_string(part), parts.count(part), "seeds");
  const auto loader = parts.evaluation_loader(part, memory);
  loader->start({0, 0, batches_xxh3});
  StageClock steps("step", parts.trace);
  BatchesAhead ahead(*loader, parts);
  while (const std::shared_ptr<const Batch> batch = ahead.next(steps)) {
    throw_if_interrupted();
    {
      Busy busy(steps);
      busy.note("batch", static_cast<double>(batch->index));
      parts.device.guarded([&] {
        parts.rows->begin(*batch, nn::Gradients::kNone);
        parts.state.begin(*batch);
        take(*batch);
        parts.rows->end();
        parts.state.commit(*batch);
      });
    }
    bar.add(static_cast<std::uint64_t>(batch->num_queries()));
  }
  LoaderStats stats = loader->stats();
  stats.stages.push_back(steps.times());
  return stats;
}

// Rows of state as they are when a part begins: before it the model has seen the parts before.
void bring_state(Parts& parts, Part part, const LoaderMemory& memory, ProgressStyle progress) {
  ModelState& state = parts.state;
  if (!state.any()) return;
  if (part == Part::kTrain || part == Part::kAll) return state.go_to_none();
  if (part == Part::kTest && state.stands() == StateStands::kTraining &&
      parts.count(Part::kValid) > 0)
    remember_part(parts, Part::kValid, memory, progress);
  state.set_stands(StateStands::kValidated);
}

}  // namespace

void remember_part(Parts& parts, Part part, const LoaderMemory& memory, ProgressStyle progress) {
  (void)go_through(parts, part, memory, 0, progress, [](const Batch&) {});
}

LoaderStats for_each_batch(Parts& parts,
                           Part part,
                           const LoaderMemory& memory,
                           std::uint64_t batches_xxh3,
                           ProgressStyle progress,
                           const std::function<void(const Batch& batch)>& take) {
  bring_state(parts, part, memory, progress);
  return go_through(parts, part, memory, batches_xxh3, progress, take);
}

Forwarded for_each_output(
    Parts& parts,
    Part part,
    const LoaderMemory& memory,
    std::uint64_t batches_xxh3,
    ProgressStyle progress,
    const std::function<
        void(const torch::Tensor& outputs, const Array& finite, const Batch& batch)>& take) {
  Forwarded forwarded;
  forwarded.stats =
      for_each_batch(parts, part, memory, batches_xxh3, progress, [&](const Batch& batch) {
        const torch::Tensor outputs = parts.task->outputs(*parts.model, batch).cpu();
        const Array finite = finite_rows(outputs);
        const Batch& host = batch.on_host();
        count_not_finite(finite, parts.task->predicted_nodes(host).front(), forwarded.not_finite);
        take(outputs, finite, host);
      });
  return forwarded;
}

std::unique_ptr<MetricAccumulator> metrics_of(const Parts& parts, Part part) {
  const auto* const encoder = dynamic_cast<const tasks::EncoderTask*>(parts.task.get());
  if (encoder == nullptr) return parts.task->make_metrics();
  return encoder->metrics_of(part, chosen_metric(parts));
}

namespace {

Metrics named_figures(Part part, const std::map<std::string, double>& figures) {
  Metrics metrics;
  for (const auto& [name, value] : figures) metrics[to_string(part) + "." + name] = value;
  return metrics;
}

// Fills in the metrics. @return what of a probe that had nodes to test is measured again
std::optional<ProbeBeside> measure(Part part, const MetricAccumulator& sums, Metrics& metrics) {
  const auto* const embeddings = dynamic_cast<const tasks::EmbeddingMetrics*>(&sums);
  if (embeddings == nullptr) {
    metrics = part_metrics(part, sums);
    return std::nullopt;
  }
  tasks::MeasuredEmbeddings measured = embeddings->measured();
  metrics = named_figures(part, measured.figures);
  if (!measured.probed || measured.probed->tested.numel() == 0) return std::nullopt;
  const tasks::EmbeddingProbe& probe = embeddings->probe();
  return ProbeBeside{*std::move(measured.probed), probe.probe, probe.floors};
}

}  // namespace

Metrics part_metrics(Part part, const MetricAccumulator& sums) {
  return named_figures(part, sums.result());
}

Evaluation evaluate(Parts& parts,
                    Part part,
                    const LoaderMemory& memory,
                    std::uint64_t batches_xxh3,
                    ProgressStyle progress,
                    Logger& log) {
  const auto begin = std::chrono::steady_clock::now();
  const TraceSpan span(parts.trace, "evaluation");
  auto sums = metrics_of(parts, part);
  Evaluation evaluation;
  evaluation.stats.batches_xxh3 = batches_xxh3;
  if (has_labels(parts, part)) {
    const auto add = [&](const torch::Tensor& outputs, const Array&, const Batch& batch) {
      sums->add(outputs, batch);
    };
    const Forwarded all = for_each_output(parts, part, memory, batches_xxh3, progress, add);
    evaluation.stats = all.stats;
    if (all.not_finite.rows != 0) {
      log.warn("{}: there are no figures where these have labels; {}",
               all.not_finite.text(parts, part),
               kMendNotFinite);
    }
  }
  const auto beside = measure(part, *sums, evaluation.metrics);
  sums.reset();
  evaluation.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (beside) evaluation.beside = measure_beside(parts, *beside, log);
  return evaluation;
}

}  // namespace sluice
