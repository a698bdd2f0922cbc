#include "train/evaluation.h"

#include "core/interrupt.h"
#include "pipeline/stage_clock.h"

#include <chrono>

namespace sluice {

std::shared_ptr<const Batch> next_batch(Loader& loader, StageClock& steps) {
  const auto asked = StageClock::Clock::now();
  std::shared_ptr<const Batch> batch = loader.next();
  steps.count_starved(asked, StageClock::Clock::now());
  return batch;
}

LoaderStats for_each_output(
    Parts& parts,
    Part part,
    const LoaderMemory& memory,
    std::uint64_t batches_xxh3,
    ProgressStyle progress,
    const std::function<void(const torch::Tensor& outputs, const Batch& batch)>& take) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  parts.model->set_step_key(parts.key());
  Progress bar(progress, to_string(part), parts.count(part), "seeds");
  const auto loader = parts.evaluation_loader(part, memory);
  loader->start({0, 0, batches_xxh3});
  StageClock steps("step", parts.trace);
  while (const std::shared_ptr<const Batch> batch = next_batch(*loader, steps)) {
    throw_if_interrupted();
    {
      Busy busy(steps);
      busy.note("batch", static_cast<double>(batch->index));
      parts.device.guarded([&] { take(parts.model->forward(*batch).cpu(), batch->on_host()); });
    }
    bar.add(static_cast<std::uint64_t>(batch->num_seeds()));
  }
  LoaderStats stats = loader->stats();
  stats.stages.push_back(steps.times());
  return stats;
}

Evaluation evaluate(Parts& parts,
                    Part part,
                    const LoaderMemory& memory,
                    std::uint64_t batches_xxh3,
                    ProgressStyle progress) {
  const auto begin = std::chrono::steady_clock::now();
  const TraceSpan span(parts.trace, "evaluation");
  const auto sums = parts.task->make_metrics();
  Evaluation evaluation;
  evaluation.stats = for_each_output(
      parts,
      part,
      memory,
      batches_xxh3,
      progress,
      [&](const torch::Tensor& outputs, const Batch& batch) { sums->add(outputs, batch); });
  for (const auto& [name, value] : sums->result())
    evaluation.metrics[to_string(part) + "." + name] = value;
  evaluation.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return evaluation;
}

}  // namespace sluice
