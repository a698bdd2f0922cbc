#include <sluice/nn/decoder.h>

#include <sluice/nn/linear.h>

namespace sluice::nn {
namespace {

class DotDecoder final : public Decoder {
 public:
  torch::Tensor score(const torch::Tensor& sources, const torch::Tensor& destinations) override {
    return (sources * destinations).sum(1);
  }
};

class MlpDecoder final : public Decoder {
 public:
  MlpDecoder(std::int64_t width, std::int64_t hidden, RandomKey key)
      : hidden_(register_module(
            "hidden", std::make_shared<Linear>(width, hidden, Bias::kZero, key.with("hidden")))),
        out_(register_module("out",
                             std::make_shared<Linear>(hidden, 1, Bias::kZero, key.with("out")))) {}

  torch::Tensor score(const torch::Tensor& sources, const torch::Tensor& destinations) override {
    return out_->forward(torch::relu(hidden_->forward(sources * destinations))).squeeze(1);
  }

 private:
  std::shared_ptr<Linear> hidden_, out_;
};

}  // namespace

std::shared_ptr<Decoder> make_decoder(DecoderKind kind,
                                      std::int64_t width,
                                      std::int64_t hidden,
                                      RandomKey key) {
  if (kind == DecoderKind::kMlp) return std::make_shared<MlpDecoder>(width, hidden, key);
  return std::make_shared<DotDecoder>();
}

}  // namespace sluice::nn
