#include "models/tgn.h"

#include "models/heads.h"

#include <utility>
#include <vector>

namespace sluice::models {

using torch::Tensor;

Tgn::Tgn(const Options& options, const ModelContext& context)
    : layers_(options.layers), executor_{context.threads, context.kernels} {
  check_heads("tgn", options.hidden, options.heads);
  const RandomKey key = context.key;
  memory_ = register_module("memory",
                            std::make_shared<NodeMemory>(
                                NodeMemoryOptions{options.hidden, MemoryCell::kGru, options.time},
                                context.schema,
                                key.with("memory")));
  inputs_ = register_module(
      "inputs",
      std::make_shared<TemporalInputs>(context, "tgn", options.hidden, key.with("inputs")));
  hops_ = register_module(
      "hops", std::make_shared<HopAttention>(options, context, inputs_, FirstRows::kGiven));
}

Encoding Tgn::encode(const Batch& batch) {
  std::vector<Tensor> rows(batch.nodes.size());
  for (std::size_t type = 0; type < rows.size(); ++type) {
    const std::int64_t count = batch.nodes[type].ids.numel();
    if (count != 0)
      rows[type] = sum_of({memory_->of(batch, type, count).rows, inputs_->nodes(batch, type)});
  }
  return hops_->forward({executor_, step_key()}, batch, std::move(rows));
}

}  // namespace sluice::models
