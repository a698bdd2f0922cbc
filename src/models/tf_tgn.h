// TF-TGN: a Transformer decoder as a temporal GNN. A node at a time is the sequence of its latest
// events, oldest first, then itself, then padding (suffix infilling); a row is the sum of what the
// neighbour, the edge and the time since are through matrices of theirs, and the node's own row,
// which is its self-loop, has no edge and no time since. Each row sees those before it and itself:
// padding comes last, so that a causal mask alone is right. The node's own row of the last layer is
// what is given, and the only one that the last layer makes.
#pragma once

#include "models/temporal_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

class TfTgn final : public Model {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t hidden = 64;
    std::int64_t heads = 2;
    std::int64_t feed_forward = 256;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and for edges without times.
  TfTgn(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  /// One hop, however many layers the decoder has.
  std::int64_t num_layers() const override { return 1; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  torch::Tensor encode_type(const Batch& batch,
                            std::size_t type,
                            const std::vector<torch::Tensor>& rows);

  Options options_;
  std::vector<std::size_t> target_types_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<nn::Linear> time_rows_, out_;
  std::vector<std::shared_ptr<nn::TransformerLayer>> layers_;
  torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace sluice::models
