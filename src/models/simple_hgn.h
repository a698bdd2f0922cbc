// Simple-HGN (Lv et al., KDD 2021): GAT over one graph of all nodes whose attention knows each
// edge's relation and keeps a part of the layer before's, with residuals and rows of length 1.
#pragma once

#include "models/carry_size.h"

#include <sluice/executor.h>
#include <sluice/model.h>
#include <sluice/models/input_rows.h>
#include <sluice/models/layerwise.h>
#include <sluice/nn/simple_hgn_conv.h>
#include <sluice/nn/union_block.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::models {

class SimpleHgn final : public Model, public Layerwise, public CarrySize {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t hidden = 64;
    std::int64_t heads = 8;
    std::int64_t input_width = 64;
    std::int64_t relation_width = 64;
    double dropout = 0.5;
    double input_dropout = 0;
    double attention_dropout = 0;
    double negative_slope = 0.05;
    double kept_attention = 0.05;
    bool normalize_output = true;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and where no node type that is read
  /// has features or learned rows.
  SimpleHgn(const Options& options, const ModelContext& context);

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
  /// Of hidden layers that another follows: the weights of edges and own rows.
  bool carries(std::int64_t layer) const override { return layer + 2 < options_.layers; }
  std::uint64_t carried_bytes(std::int64_t layer,
                              std::uint64_t targets,
                              std::uint64_t edges) const override;
  std::vector<torch::Tensor> layer_rows(std::int64_t layer,
                                        const std::vector<torch::Tensor>& x,
                                        const Batch& batch,
                                        LayerCarry& carry) const override;

 private:
  nn::LayerCall call_of(std::size_t layer) const;
  nn::SimpleHgnConvOptions conv_options(const ModelContext& context, std::size_t layer) const;

  Options options_;
  std::vector<nn::LayerTypes> flow_;
  kernels::Executor executor_;
  std::shared_ptr<InputRows> inputs_;
  std::vector<std::shared_ptr<nn::SimpleHgnConv>> convs_;
};

}  // namespace sluice::models
