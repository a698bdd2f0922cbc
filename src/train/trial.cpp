#include "train/trial.h"

#include "nn/tensor_view.h"
#include "train/weights.h"

namespace sluice {
namespace {

MemoryLedger::Entry tensors_entry(const Parts& parts) {
  for (const MemoryLedger::Entry& entry : parts.ledger->entries()) {
    if (entry.name == "tensors") return entry;
  }
  return {};
}

void train_step(Parts& parts, const Batch& batch) {
  parts.model->train();
  parts.model->set_step_key(parts.key());
  parts.task->training_loss(*parts.model, batch, parts.key()).backward();
  parts.optimizer->step();
  parts.optimizer->zero_grad();
}

void evaluation_step(Parts& parts, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  parts.model->set_step_key(parts.key());
  parts.task->make_metrics()->add(parts.task->outputs(*parts.model, batch).cpu(), batch.on_host());
}

std::uint64_t beyond(std::uint64_t peak, std::uint64_t base) {
  return peak > base ? peak - base : 0;
}

// Where the model has fewer outputs than there are classes: labels that it has, on the CPU.
Batch within_outputs(const Parts& parts, const Batch& batch) {
  Batch narrow = batch;
  const bool classes = batch.labels.dtype() == DType::kI32;
  if (parts.placement.outputs == 0 || !classes || batch.labels.numel() == 0) return narrow;
  narrow.labels = nn::as_array(
      nn::as_tensor(batch.labels).clamp_max(parts.task->output_width() - 1).contiguous());
  return narrow;
}

TrialPeaks try_both(Parts& parts, const Batch* training, const Batch* evaluation) {
  TrialPeaks peaks;
  peaks.resident = tensors_entry(parts).bytes;
  // A ledger keeps the peak of all times. Evaluation goes first: it keeps nothing for a backward
  // pass, so that the peak of training shows above it; where it does not, the evaluation's is the
  // one that counts.
  if (evaluation != nullptr) {
    evaluation_step(parts, *evaluation);
    peaks.evaluation = beyond(tensors_entry(parts).peak, peaks.resident);
  }
  if (training == nullptr) return peaks;
  const NamedTensors weights = clone_of(parts.weights());
  const NamedTensors state = clone_of(parts.optimizer->named_state());
  const std::uint64_t base = tensors_entry(parts).bytes;
  train_step(parts, *training);
  peaks.training = beyond(tensors_entry(parts).peak, base);
  copy_into(parts.weights(), weights);
  parts.optimizer->load_state(state);
  return peaks;
}

}  // namespace

TrialPeaks try_steps(Parts& parts, const Batch* training, const Batch* evaluation) {
  if (!parts.device.device) {
    const auto narrow = [&](const Batch* batch) {
      return batch == nullptr ? Batch{} : within_outputs(parts, *batch);
    };
    const Batch to_train = narrow(training), to_evaluate = narrow(evaluation);
    return try_both(parts,
                    training == nullptr ? nullptr : &to_train,
                    evaluation == nullptr ? nullptr : &to_evaluate);
  }
  parts.device.device->reset_tensor_peak();
  return parts.device.guarded([&] {
    TrialPeaks peaks = try_both(parts, training, evaluation);
    peaks.device_pool = parts.device.device->tensor_pool().peak;
    return peaks;
  });
}

}  // namespace sluice
