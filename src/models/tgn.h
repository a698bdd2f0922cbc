// TGN (Rossi et al. 2020, "Temporal graph networks for deep learning on dynamic graphs"): a memory
// a node, changed by the messages of its events through a GRU, and a row of a node at a time by
// attention over its events of before, in which each neighbour comes with its memory.
#pragma once

#include "models/hop_attention.h"
#include "models/node_memory.h"
#include "models/temporal_inputs.h"

#include <sluice/executor.h>

#include <memory>
#include <optional>

namespace sluice::models {

class Tgn final : public Model, public StatefulModel {
 public:
  struct Options : HopAttentionOptions {
    Options() { layers = 1; }
  };
  /// Throws kUsage unless `hidden` is a multiple of `heads`, and for edges without times.
  Tgn(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return layers_; }
  BatchNeeds needs() const override { return inputs_->needs(); }

  nn::StateShape state_shape() const override { return memory_->shape(); }
  std::optional<std::size_t> event_features() const override { return memory_->event_features(); }
  void attach_state(nn::StateRows& rows) override { memory_->attach(rows); }
  void commit(const Batch& batch, const CommittedEvents& events) override {
    memory_->commit(batch, events);
  }

 private:
  std::int64_t layers_;
  kernels::Executor executor_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<TemporalInputs> inputs_;
  std::shared_ptr<HopAttention> hops_;
};

}  // namespace sluice::models
