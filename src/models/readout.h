// Readout: an encoder with one matrix behind it, which makes outputs of its embeddings. What a run
// over an encoder that was trained before trains ([pretrained]): the matrix alone where the encoder
// is frozen.
#pragma once

#include "models/carry_size.h"

#include <sluice/model.h>
#include <sluice/models/layerwise.h>
#include <sluice/nn/linear.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::models {

/// Whether the encoder's weights are trained too.
enum class EncoderWeights {
  kTrained,
  kFrozen  ///< as they are; its dropout is off, and running statistics stay
};

class Readout final : public Model, public Layerwise, public CarrySize {
 public:
  /// @param encoder gives rows of `width` columns @param context of the outputs
  Readout(std::shared_ptr<Model> encoder,
          std::int64_t width,
          EncoderWeights weights,
          const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return encoder_->num_layers(); }
  BatchNeeds needs() const override { return encoder_->needs(); }
  void train(bool on = true) override;
  /// Where the encoder is one: its layers, the matrix with the last of them.
  const Layerwise* layerwise() const override {
    return encoder_->layerwise() == nullptr ? nullptr : this;
  }

  std::int64_t depth() const override { return layers().depth(); }
  const nn::LayerTypes& layer_types(std::int64_t layer) const override {
    return layers().layer_types(layer);
  }
  std::int64_t columns(std::int64_t layer) const override;
  std::vector<torch::Tensor> input_rows(const Batch& batch) const override {
    return layers().input_rows(batch);
  }
  Gathering gathering(std::int64_t layer) const override { return layers().gathering(layer); }
  bool carries(std::int64_t layer) const override { return layers().carries(layer); }
  std::uint64_t carried_bytes(std::int64_t layer,
                              std::uint64_t targets,
                              std::uint64_t edges) const override;
  std::vector<torch::Tensor> layer_rows(std::int64_t layer,
                                        const std::vector<torch::Tensor>& x,
                                        const Batch& batch,
                                        LayerCarry& carry) const override;

  const Model& encoder() const { return *encoder_; }

 private:
  const Layerwise& layers() const { return *encoder_->layerwise(); }
  Encoding outputs_of(Encoding rows) const;

  std::shared_ptr<Model> encoder_;
  std::shared_ptr<nn::Linear> out_;
  EncoderWeights weights_;
};

}  // namespace sluice::models
