#include "models/jodie.h"

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>
#include <sluice/nn/tensor_view.h>

namespace sluice::models {

using torch::Tensor;

void Jodie::Options::describe(Schema& schema) {
  schema.field("hidden", hidden).help("columns of a memory").range(1, 1 << 12);
  schema.field("dropout", dropout)
      .help("share of elements of projected memories zeroed in training")
      .range(0, 0.999);
  time.describe(schema);
}

Jodie::Jodie(const Options& options, const ModelContext& context)
    : options_(options),
      target_types_(context.target_types),
      executor_{context.threads, context.kernels} {
  const std::int64_t hidden = options.hidden;
  const RandomKey key = context.key;
  memory_ = register_module(
      "memory",
      std::make_shared<NodeMemory>(NodeMemoryOptions{hidden, MemoryCell::kRnn, options.time},
                                   context.schema,
                                   key.with("memory")));
  inputs_ = register_module(
      "inputs", std::make_shared<TemporalInputs>(context, "jodie", hidden, key.with("inputs")));
  projection_ = register_parameter("projection", nn::zeros({hidden}));
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})));
  out_ = register_module(
      "out",
      std::make_shared<nn::Linear>(hidden, context.output_width, nn::Bias::kZero, key.with("out")));
}

Encoding Jodie::encode(const Batch& batch) {
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : target_types_) {
    const std::int64_t seeds = batch.num_seeds(type);
    if (seeds == 0) continue;
    const ReadMemory memory = memory_->of(batch, type, seeds);
    const Tensor now = nn::as_tensor(batch.nodes[type].times).narrow(0, 0, seeds);
    const Tensor passed =
        torch::where(memory.any, now - memory.last, torch::zeros_like(now)).clamp_min(0);
    const Tensor since =
        torch::log1p(passed.to(torch::kFloat64) / static_cast<double>(options_.time.unit))
            .to(torch::kFloat32)
            .unsqueeze(1);
    Tensor rows = memory.rows * (1 + since * projection_);
    const Tensor features = inputs_->nodes(batch, type);
    if (features.defined()) rows = rows + features.narrow(0, 0, seeds);
    rows = norm_->forward(rows);
    if (is_training())
      rows = nn::dropout(executor_, step_key().with("seeds").with(type), options_.dropout, rows);
    encoded[type] = out_->forward(rows);
  }
  return encoded;
}

}  // namespace sluice::models
