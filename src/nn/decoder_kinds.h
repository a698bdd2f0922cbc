// The decoders by family, for make_decoder. Internal to src/nn.
#pragma once

#include <sluice/nn/decoder.h>

namespace sluice::nn {

/// What the decoders over relations share: their rows. A gradient adds up in the order of a
/// mini-batch, whatever the number of threads.
class RelationalDecoder : public Decoder {
 public:
  torch::Tensor relation_rows(const torch::Tensor& relations) const final {
    return torch::embedding(relations_, relations);
  }

 protected:
  /// @param bound rows start uniform within
  RelationalDecoder(const DecoderOptions& options, std::int64_t columns, double bound);

  torch::Tensor relations_;  // f32 [relations, columns]
};

/// DistMult and ComplEx.
std::shared_ptr<Decoder> make_product_decoder(const DecoderOptions& options);
/// TransE and RotatE.
std::shared_ptr<Decoder> make_distance_decoder(const DecoderOptions& options);

}  // namespace sluice::nn
