// MaskedAutoencoder: features of some nodes are masked, and made again from the embeddings of all;
// other losses may stand beside, each by its weight: GraphMAE (Hou et al., KDD 2022) is the first
// alone, GCMAE (Wang et al., ICDE 2024) all but the latent one, GraphMAE2 (Hou et al., WWW 2023)
// the first with random re-masking and the latent one. What they are in detail:
// docs/self-supervised.md.
#pragma once

#include "tasks/pretext.h"
#include "tasks/pretext_options.h"
#include "tasks/pretext_parts.h"

#include <cstdint>
#include <memory>

namespace sluice::tasks {

struct MaskedAutoencoderOptions {
  MaskedOptions masked;
  ContrastOptions contrast;
  AdjacencyOptions adjacency;
  VarianceOptions variance;
  LatentOptions latent;
};

class MaskedAutoencoder final : public Pretext {
 public:
  /// Throws kUsage where all weights are 0.
  /// @param features columns that are masked @param width columns of embeddings
  MaskedAutoencoder(const MaskedAutoencoderOptions& options,
                    std::int64_t features,
                    std::int64_t width,
                    RandomKey key);

  std::int64_t layers_behind() const override { return decoder_ ? decoder_->num_layers() : 0; }
  torch::Tensor loss(const PretextStep& step) override;
  void follow(double momentum) override;

 private:
  // Of a step, what several losses read.
  struct Seen {
    Batch inner;  // the encoder's layers; its seeds are what the decoder reads
    torch::Tensor features, ids;
    torch::Tensor masked;     // bool [nodes]
    torch::Tensor embedding;  // f32 [inner seeds, width], of the masked view
  };

  bool decodes() const { return options_.masked.weight != 0 || options_.adjacency.weight != 0; }
  Seen look(const PretextStep& step) const;
  torch::Tensor corrupted(const PretextStep& step, const Seen& seen) const;
  torch::Tensor decoded(const PretextStep& step, const Seen& seen, std::int64_t view) const;
  torch::Tensor decoder_losses(const PretextStep& step, const Seen& seen) const;
  torch::Tensor contrast_loss(const PretextStep& step, const Seen& seen) const;
  torch::Tensor latent_loss(const PretextStep& step, const Seen& seen) const;

  MaskedAutoencoderOptions options_;
  torch::Tensor token_, remask_token_, predictor_slope_;
  std::shared_ptr<nn::Linear> bridge_, predictor_;
  std::shared_ptr<FeatureDecoder> decoder_;
  std::shared_ptr<Projection> first_projection_, second_projection_;  // of the contrast
  std::shared_ptr<Projection> projection_, target_projection_;        // of the latent loss
};

}  // namespace sluice::tasks
