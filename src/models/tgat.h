// TGAT (Xu et al., ICLR 2020): each layer sees a node at a time by attention over its events of
// before, with their edges' features and a code of how long ago each was, and joins what it found
// with the node's own row. A neighbour's row is that of the time of the event it was met by.
#pragma once

#include "models/temporal_inputs.h"

#include <sluice/executor.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/time_encoding.h>

namespace sluice::models {

class Tgat final : public Model {
 public:
  struct Options {
    std::int64_t layers = 2;
    std::int64_t hidden = 100;
    std::int64_t heads = 2;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and for edges without times.
  Tgat(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return options_.layers; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  struct Layer {
    std::shared_ptr<nn::EventAttention> attention;
    std::shared_ptr<nn::Linear> hidden, out;
  };

  torch::Tensor layer_rows(std::size_t layer,
                           const Batch& batch,
                           std::size_t type,
                           const std::vector<torch::Tensor>& rows) const;

  Options options_;
  std::vector<std::size_t> target_types_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::vector<Layer> layers_;
};

}  // namespace sluice::models
