#include "tasks/pretext_parts.h"

#include "nn/prelu_slope.h"

#include <sluice/nn/init.h>

namespace sluice::tasks {

Projection::Projection(const ProjectionWidths& widths, RandomKey key)
    : first_(register_module("first",
                             std::make_shared<nn::Linear>(
                                 widths.in, widths.hidden, nn::Bias::kZero, key.with("first")))),
      second_(register_module("second",
                              std::make_shared<nn::Linear>(
                                  widths.hidden, widths.out, nn::Bias::kZero, key.with("second")))),
      slope_(register_parameter("slope", nn::first_prelu_slope())) {}

torch::Tensor Projection::forward(const torch::Tensor& x) const {
  return second_->forward(torch::prelu(first_->forward(x), slope_));
}

FeatureDecoder::FeatureDecoder(DecoderLayer layer, const ProjectionWidths& widths, RandomKey key) {
  if (layer == DecoderLayer::kGat) {
    nn::GatConvOptions options;
    options.in = widths.in;
    options.head_width = widths.out;
    gat_ = register_module("gat", std::make_shared<nn::GatConv>(options, key));
  } else if (layer == DecoderLayer::kGcn) {
    gcn_ = register_module(
        "gcn", std::make_shared<nn::GcnConv>(widths.in, widths.out, nn::GcnNorm::kMean, key));
  } else {
    mlp_ = register_module("mlp", std::make_shared<Projection>(widths, key));
  }
}

torch::Tensor FeatureDecoder::forward(const nn::LayerCall& call, const torch::Tensor& x) const {
  if (gat_) return gat_->forward(call, x);
  if (gcn_) return gcn_->forward(call, x, {});
  return mlp_->forward(x);
}

BilinearScore::BilinearScore(std::int64_t width, RandomKey key)
    : weight_(register_parameter("weight", nn::glorot(key, {width, width}, width, width))) {}

torch::Tensor BilinearScore::forward(const torch::Tensor& rows,
                                     const torch::Tensor& summary) const {
  return torch::mv(rows, torch::mv(weight_, summary));
}

}  // namespace sluice::tasks
