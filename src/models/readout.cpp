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
  return outputs_of(std::move(rows));
}

Encoding Readout::outputs_of(Encoding rows) const {
  for (torch::Tensor& each : rows)
    if (each.defined()) each = out_->forward(each);
  return rows;
}

std::int64_t Readout::columns(std::int64_t layer) const {
  return layer == depth() ? out_->out() : layers().columns(layer);
}

std::uint64_t Readout::carried_bytes(std::int64_t layer,
                                     std::uint64_t targets,
                                     std::uint64_t edges) const {
  const auto* const size = dynamic_cast<const CarrySize*>(&layers());
  return size == nullptr ? 0 : size->carried_bytes(layer, targets, edges);
}

std::vector<torch::Tensor> Readout::layer_rows(std::int64_t layer,
                                               const std::vector<torch::Tensor>& x,
                                               const Batch& batch,
                                               LayerCarry& carry) const {
  std::vector<torch::Tensor> rows = layers().layer_rows(layer, x, batch, carry);
  return layer + 1 == depth() ? outputs_of(std::move(rows)) : rows;
}

}  // namespace sluice::models
