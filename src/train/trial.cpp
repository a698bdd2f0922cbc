#include "train/trial.h"

#include "train/weights.h"

#include <sluice/nn/tensor_view.h>

namespace sluice {
namespace {

void train_step(Parts& parts, const Batch& batch) {
  parts.model->train();
  parts.model->set_step_key(parts.key());
  parts.rows->begin(batch, nn::Gradients::kWanted);
  parts.state.begin(batch);
  parts.task->training_loss(*parts.model, batch, parts.key()).backward();
  parts.optimizer->step();
  parts.optimizer->zero_grad();
  parts.rows->end();  // their update takes no memory, and is not to be undone
  parts.state.end();
}

void evaluation_step(Parts& parts, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  parts.model->set_step_key(parts.key());
  parts.rows->begin(batch, nn::Gradients::kNone);
  parts.state.begin(batch);
  parts.task->make_metrics()->add(parts.task->outputs(*parts.model, batch).cpu(), batch.on_host());
  parts.rows->end();
  parts.state.end();
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

// @param step of a batch: returns the most bytes of tensors that it held beside what stays
template <class Step>
TrialPeaks try_step(Parts& parts, const Batch& batch, const Step& step) {
  if (!parts.device.device) return {step(within_outputs(parts, batch))};
  parts.device.device->reset_tensor_peak();
  return parts.device.guarded([&] {
    const std::uint64_t bytes = step(batch);
    return TrialPeaks{bytes, parts.device.device->tensor_pool().peak};
  });
}

}  // namespace

TrialPeaks try_evaluation(Parts& parts, const Batch& batch) {
  return try_step(parts, batch, [&parts](const Batch& tried) {
    const std::uint64_t base = parts.tensors.bytes();
    evaluation_step(parts, tried);
    return parts.tensors.peak() - base;
  });
}

TrialPeaks try_training(Parts& parts, const Batch& batch) {
  return try_step(parts, batch, [&parts](const Batch& tried) {
    const NamedTensors weights = clone_of(weights_of(*parts.model, *parts.task));
    const NamedTensors state = clone_of(parts.optimizer->named_state());
    const std::uint64_t base = parts.tensors.bytes();
    train_step(parts, tried);
    const std::uint64_t peak = parts.tensors.peak();
    copy_into(weights_of(*parts.model, *parts.task), weights);
    parts.optimizer->load_state(state);
    return peak - base;
  });
}

}  // namespace sluice
