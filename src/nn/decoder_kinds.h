// The decoders by family, for make_decoder. Internal to src/nn.
#pragma once

#include <sluice/nn/decoder.h>

namespace sluice::nn {

/// What the decoders over relations share: their rows, and dropout of them. A gradient adds up in
/// the order of a mini-batch, whatever the number of threads.
class RelationalDecoder : public Decoder {
 public:
  torch::Tensor relation_rows(const torch::Tensor& relations) const final {
    return torch::embedding(relations_, relations);
  }
  void set_step_key(RandomKey key) final {
    step_key_ = key;
    queries_ = 0;
  }

 protected:
  /// @param bound rows start uniform within
  RelationalDecoder(const DecoderOptions& options, std::int64_t columns, double bound);

  /// relation_rows() of a query, without what dropout takes in training.
  torch::Tensor query_rows(const torch::Tensor& relations) const;

  torch::Tensor relations_;  // f32 [relations, columns]

 private:
  double dropout_;
  RandomKey step_key_{0};
  mutable std::uint64_t queries_ = 0;  // of the step, so far
};

/// DistMult and ComplEx.
std::shared_ptr<Decoder> make_product_decoder(const DecoderOptions& options);
/// TransE and RotatE.
std::shared_ptr<Decoder> make_distance_decoder(const DecoderOptions& options);

}  // namespace sluice::nn
