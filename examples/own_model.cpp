// The training tool with a model of one's own in it: [model] type = "mine".
//
//   example_model run mine.toml
#include <sluice/models/stack.h>
#include <sluice/nn/sage_conv.h>
#include <sluice/train.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;

/// GraphSAGE by maxima. Stack brings layers, dropout, norms and residuals; this says what a layer
/// does.
class Mine final : public models::Stack {
 public:
  struct Options {
    models::StackOptions stack;
    void describe(Schema& schema) { stack.describe(schema); }
  };

  Mine(const Options& options, const ModelContext& context)
      : Stack(options.stack, context, "mine", models::Reads::kBlocks) {
    for (std::int64_t i = 0; i < num_layers(); ++i) {
      const nn::SageConvOptions conv{
          .in = width_in(i), .out = width_out(i), .aggregator = nn::Aggregator::kMax};
      const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(i));
      convs_.push_back(
          register_module("layer" + std::to_string(i), std::make_shared<nn::SageConv>(conv, key)));
    }
  }

 private:
  torch::Tensor convolve(std::int64_t layer,
                         const nn::LayerCall& call,
                         const torch::Tensor& x,
                         const Batch&) const override {
    return convs_[static_cast<std::size_t>(layer)]->forward(call, x);
  }

  std::vector<std::shared_ptr<nn::SageConv>> convs_;
};

int main(int argc, char** argv) {
  TrainRegistry registry = TrainRegistry::builtin();
  registry.models.add<Mine>("mine", "neighbours by their maxima");
  return train_main(argc, argv, registry);
}
