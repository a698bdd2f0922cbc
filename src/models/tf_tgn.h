// TF-TGN: a Transformer decoder as a temporal GNN. A node at a time is the sequence of its latest
// events, oldest first, then itself, then padding (suffix infilling); a row is the sum of what the
// neighbour, the edge and the time since are through matrices of theirs, and the node's own row,
// which is its self-loop, has no edge and no time since. Each row sees those before it and itself:
// padding comes last, so that a causal mask alone is right. The node's own row of the last layer is
// what is given, and the only one that the last layer makes.
//
// A node by itself does not know whom it is asked about with, so that no score of two such rows
// sees that a pair met before. With `pairs` both ends of a link are read together: each row also
// says how often its node is in either end's sequence, and how many events ago it was.
#pragma once

#include "models/pair_sequences.h"
#include "models/temporal_inputs.h"

#include <sluice/executor.h>
#include <sluice/models/pair_encoder.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

class TfTgn final : public Model, public PairEncoder {
 public:
  /// What rows say of the other end of a link.
  enum class Pairs { kNone, kCoOccurrence };
  struct Options {
    Pairs pairs = Pairs::kNone;
    std::int64_t layers = 2;
    std::int64_t events = 0;
    std::int64_t hidden = 64;
    std::int64_t heads = 2;
    std::int64_t feed_forward = 256;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and for edges without times.
  TfTgn(const Options& options, const ModelContext& context);

  /// Reading pairs: each node together with itself.
  Encoding encode(const Batch& batch) override;
  bool reads_pairs() const override { return options_.pairs != Pairs::kNone; }
  PairEncoding encode_pairs(const Batch& batch, const PairRows& pairs) override;
  /// One hop, however many layers the decoder has.
  std::int64_t num_layers() const override { return 1; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  // A type's seeds with their events.
  struct Sequences {
    torch::Tensor rows;     // f32 [seeds, length, hidden]
    torch::Tensor own;      // i64 [seeds]: the place of each one's own row
    torch::Tensor numbers;  // i64 [seeds, length], reading pairs
  };

  Sequences read_seeds(const Batch& batch, std::size_t type) const;
  torch::Tensor decode(torch::Tensor x, const torch::Tensor& own, RandomKey key);
  torch::Tensor encode_end(const Sequences& sequences,
                           const torch::Tensor& seeds,
                           const torch::Tensor& others,
                           RandomKey key);

  Options options_;
  std::vector<std::size_t> target_types_;
  std::int64_t output_width_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<nn::Linear> time_rows_, out_;
  std::shared_ptr<CountEncoding> counts_, positions_;  // reading pairs
  std::vector<std::shared_ptr<nn::TransformerLayer>> layers_;
  torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace sluice::models
