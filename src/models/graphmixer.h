// GraphMixer (Cong et al., ICLR 2023): an MLP-Mixer over a node's latest events, of which it reads
// how long ago they were and their edges' features, and beside it the mean of the nodes that it met
// within a time window. No attention, and no frequencies that are learned unless asked for.
//
// Where nodes have neither features nor learned rows, the second half is left out: a mean of zeros.
#pragma once

#include "models/temporal_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/mixer_layer.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

class GraphMixer final : public Model {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t hidden = 100;
    std::int64_t events = 20;
    std::int64_t window = 0;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage for edges without times.
  GraphMixer(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  /// One hop, however many layers the mixer has.
  std::int64_t num_layers() const override { return 1; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  torch::Tensor mixed_events(const LayerEvents& in, std::size_t type) const;
  torch::Tensor mean_neighbours(const LayerEvents& in,
                                std::size_t type,
                                const std::vector<torch::Tensor>& rows) const;

  Options options_;
  std::vector<std::size_t> target_types_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<nn::Linear> time_rows_, out_;
  std::vector<std::shared_ptr<nn::MixerLayer>> layers_;
  mutable torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace sluice::models
