// HGT (Hu et al., WWW 2020): a transformer over a node's in-edges of all relations at once, with
// matrices of keys, queries and values by node type, and of attention and messages by relation.
#pragma once

#include <sluice/executor.h>
#include <sluice/model.h>
#include <sluice/models/input_rows.h>
#include <sluice/models/layerwise.h>
#include <sluice/nn/hgt_conv.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/union_block.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::models {

class Hgt final : public Model, public Layerwise {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t hidden = 64;
    std::int64_t heads = 8;
    double dropout = 0.2;
    double input_dropout = 0;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and where no node type that is read
  /// has features or learned rows.
  Hgt(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return options_.layers; }
  BatchNeeds needs() const override { return inputs_->needs(); }
  const Layerwise* layerwise() const override { return this; }

  std::int64_t depth() const override { return options_.layers; }
  const nn::LayerTypes& layer_types(std::int64_t layer) const override {
    return flow_.at(static_cast<std::size_t>(layer));
  }
  std::int64_t columns(std::int64_t layer) const override;
  std::vector<torch::Tensor> input_rows(const Batch& batch) const override;
  std::vector<torch::Tensor> layer_rows(std::int64_t layer,
                                        const std::vector<torch::Tensor>& x,
                                        const Batch& batch,
                                        LayerCarry& carry) const override;

 private:
  nn::LayerCall call_of(std::size_t layer) const;

  Options options_;
  std::vector<nn::LayerTypes> flow_;
  kernels::Executor executor_;
  std::shared_ptr<InputRows> inputs_;
  std::vector<std::shared_ptr<nn::HgtConv>> convs_;
  std::shared_ptr<nn::Linear> output_;
};

}  // namespace sluice::models
