// TPNet (Lu et al., NeurIPS 2024, "Improving temporal link prediction via temporal walk matrix
// projection"): both ends of a pair by their latest events, each with what walks in time say of its
// neighbour and either end, mixed by an MLP-Mixer; and what they say of the pair itself.
//
// A pair encoder: a node's row depends on the other end. The published decoder reads the pair's
// walks beside both rows; here they are part of either row, as the decoder is the task's. Padding
// takes no part (in the published code it does).
#pragma once

#include "models/temporal_inputs.h"
#include "models/walk_projections.h"

#include <sluice/executor.h>
#include <sluice/models/pair_encoder.h>
#include <sluice/models/state_model.h>
#include <sluice/nn/mixer_layer.h>
#include <sluice/nn/time_encoding.h>

#include <memory>
#include <vector>

namespace sluice::models {

class TpNet final : public Model, public PairEncoder, public StatefulModel {
 public:
  struct Options {
    std::int64_t events = 20;
    std::int64_t layers = 2;
    std::int64_t hidden = 172;
    double dropout = 0.1;
    std::int64_t walks = 3;
    std::int64_t walk_width = 0;
    double walk_decay = 1e-7;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage for edges without times.
  TpNet(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 1; }
  BatchNeeds needs() const override { return inputs_->needs(); }
  PairEncoding encode_pairs(const Batch& batch, const PairRows& pairs) override;

  nn::StateShape state_shape() const override { return walks_.shape(); }
  void attach_state(nn::StateRows& rows) override { walks_.attach(rows); }
  void commit(const Batch& batch, const CommittedEvents&) override { walks_.commit(batch); }

 private:
  // What a type's seeds have whoever the other end is.
  struct Seeds {
    torch::Tensor own;     // i64 [seeds]: rows among the mini-batch's projections
    torch::Tensor met;     // i64 [seeds, events]: those of the neighbours, -1: padding
    torch::Tensor tokens;  // f32 [seeds, events, 2 hidden]
  };

  Seeds read_seeds(const Batch& batch, std::size_t type, const torch::Tensor& walks) const;
  torch::Tensor relation_of(const torch::Tensor& walks,
                            const torch::Tensor& a,
                            const torch::Tensor& b) const;
  torch::Tensor end_rows(const Seeds& own,
                         const torch::Tensor& rows,
                         const torch::Tensor& others,
                         const torch::Tensor& walks,
                         RandomKey key) const;

  Options options_;
  std::vector<std::size_t> target_types_;
  std::int64_t output_width_;
  kernels::Executor executor_;
  WalkProjections walks_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<nn::Linear> walk_wide_, walk_narrow_;  // over pair_products()
  std::shared_ptr<nn::Linear> of_event_, of_other_, token_, out_;
  std::vector<std::shared_ptr<nn::MixerLayer>> layers_;
};

}  // namespace sluice::models
