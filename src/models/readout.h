// Readout: an encoder with one matrix behind it, which makes outputs of its embeddings. What a run
// over an encoder that was trained before trains ([pretrained]): the matrix alone where the encoder
// is frozen.
#pragma once

#include <sluice/model.h>
#include <sluice/nn/linear.h>

#include <cstdint>
#include <memory>

namespace sluice::models {

/// Whether the encoder's weights are trained too.
enum class EncoderWeights {
  kTrained,
  kFrozen  ///< as they are; its dropout is off, and running statistics stay
};

class Readout final : public Model {
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

  const Model& encoder() const { return *encoder_; }

 private:
  std::shared_ptr<Model> encoder_;
  std::shared_ptr<nn::Linear> out_;
  EncoderWeights weights_;
};

}  // namespace sluice::models
