// DyGFormer (Yu et al., NeurIPS 2023): the two ends of a pair are the sequences of their latest
// events, cut into patches, and a Transformer reads both sequences as one. A token has four
// channels: its node, its edge, how long ago it was, and how often its node is in either sequence.
//
// Patches are counted from the node itself, which ends its sequence, so that the same history gives
// the same patches whatever is padded before it; and padding takes no part in attention or means.
// As an encoder of nodes it takes each node together with itself.
#pragma once

#include "models/pair_sequences.h"
#include "models/temporal_inputs.h"

#include <sluice/executor.h>
#include <sluice/models/pair_encoder.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

class DygFormer final : public Model, public PairEncoder {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t events = 0;
    std::int64_t channel = 50;
    std::int64_t heads = 2;
    std::int64_t patch = 1;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless the four channels together are a multiple of `heads`, and for edges
  /// without times.
  DygFormer(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  PairEncoding encode_pairs(const Batch& batch, const PairRows& pairs) override;
  /// One hop, however many layers the Transformer has.
  std::int64_t num_layers() const override { return 1; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  // What a type's seeds have by themselves.
  struct Seeds {
    torch::Tensor numbers;  // i64 [seeds, length]
    torch::Tensor patches;  // f32 [seeds, length / patch, 3 * channel]
  };
  // A sequence of each pair.
  struct End {
    torch::Tensor patches;  // f32 [n, length / patch, 4 * channel]
    torch::Tensor mask;     // bool [n, length / patch]
  };

  Seeds read_seeds(const Batch& batch, std::size_t type) const;
  torch::Tensor patched(const torch::Tensor& tokens) const;
  End end_of(const Seeds& own,
             const torch::Tensor& rows,
             const torch::Tensor& numbers,
             const torch::Tensor& others) const;
  PairEncoding encode_piece(const Seeds& sources,
                            const Seeds& destinations,
                            const PairRows& piece,
                            RandomKey key) const;

  Options options_;
  std::vector<std::size_t> target_types_;
  std::int64_t output_width_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<CountEncoding> counts_;
  std::shared_ptr<nn::Linear> node_patches_, edge_patches_, time_patches_, count_patches_, out_;
  std::vector<std::shared_ptr<nn::TransformerLayer>> layers_;
};

}  // namespace sluice::models
