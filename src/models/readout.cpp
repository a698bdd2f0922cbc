#include "models/readout.h"

#include <optional>
#include <utility>

namespace sluice::models {

Readout::Readout(std::shared_ptr<Model> encoder,
                 std::int64_t width,
                 EncoderWeights weights,
                 const ModelContext& context)
    : encoder_(register_module("encoder", std::move(encoder))),
      out_(register_module(
          "out",
          std::make_shared<nn::Linear>(
              width, context.output_width, nn::Bias::kZero, context.key.with("readout")))),
      weights_(weights) {
  if (weights_ == EncoderWeights::kTrained) return;
  for (torch::Tensor& parameter : encoder_->parameters()) parameter.requires_grad_(false);
}

void Readout::train(bool on) {
  Model::train(on);
  if (weights_ == EncoderWeights::kFrozen) encoder_->eval();
}

Encoding Readout::encode(const Batch& batch) {
  encoder_->set_step_key(step_key());
  Encoding rows;
  {
    std::optional<torch::NoGradGuard> no_grad;
    if (weights_ == EncoderWeights::kFrozen) no_grad.emplace();
    rows = encoder_->encode(batch);
  }
  for (torch::Tensor& each : rows)
    if (each.defined()) each = out_->forward(each);
  return rows;
}

}  // namespace sluice::models
