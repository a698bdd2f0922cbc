#include "models/tgat.h"

#include "models/heads.h"

namespace sluice::models {

Tgat::Tgat(const Options& options, const ModelContext& context)
    : layers_(options.layers), executor_{context.threads, context.kernels} {
  check_heads("tgat", options.hidden, options.heads);
  inputs_ = register_module("inputs",
                            std::make_shared<TemporalInputs>(
                                context, "tgat", options.hidden, context.key.with("inputs")));
  // Of a graph without node features the first layer's rows are zeros: it reads none.
  const FirstRows first = inputs_->has_nodes() ? FirstRows::kGiven : FirstRows::kNone;
  hops_ = register_module("hops", std::make_shared<HopAttention>(options, context, inputs_, first));
}

Encoding Tgat::encode(const Batch& batch) {
  return hops_->forward({executor_, step_key()}, batch, inputs_->nodes(batch));
}

}  // namespace sluice::models
