// TGAT (Xu et al., ICLR 2020): each layer sees a node at a time by attention over its events of
// before, with their edges' features and a code of how long ago each was, and joins what it found
// with the node's own row. A neighbour's row is that of the time of the event it was met by.
#pragma once

#include "models/hop_attention.h"
#include "models/temporal_inputs.h"

#include <sluice/executor.h>

#include <memory>

namespace sluice::models {

class Tgat final : public Model {
 public:
  using Options = HopAttentionOptions;
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and for edges without times.
  Tgat(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return layers_; }
  BatchNeeds needs() const override { return inputs_->needs(); }

 private:
  std::int64_t layers_;
  kernels::Executor executor_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<HopAttention> hops_;
};

}  // namespace sluice::models
