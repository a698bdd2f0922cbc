// JODIE (Kumar, Zhang, Leskovec, KDD 2019) in the form that TGL (Zhou et al., VLDB 2022) gave it: a
// memory a node, changed by the messages of its events through an RNN, and projected to the time
// that is asked about: h = (1 + f(time since) w) * memory.
//
// It looks at no neighbours: its one layer of blocks is not read, so `count = [1]` does. TGL
// divides the time since by the time itself; here f is log(1 + time since / time_unit), which does
// not depend on where times begin.
#pragma once

#include "models/node_memory.h"
#include "models/temporal_inputs.h"

#include <optional>
#include <vector>

namespace sluice::models {

class Jodie final : public Model, public StatefulModel {
 public:
  struct Options {
    std::int64_t hidden = 100;
    double dropout = 0.1;
    nn::TimeEncodingOptions time;
    void describe(Schema& schema);
  };
  /// Throws kUsage for edges without times.
  Jodie(const Options& options, const ModelContext& context);

  Encoding encode(const Batch& batch) override;
  std::int64_t num_layers() const override { return 1; }

  nn::StateShape state_shape() const override { return memory_->shape(); }
  std::optional<std::size_t> event_features() const override { return memory_->event_features(); }
  void attach_state(nn::StateRows& rows) override { memory_->attach(rows); }
  void commit(const Batch& batch, const CommittedEvents& events) override {
    memory_->commit(batch, events);
  }

 private:
  Options options_;
  std::vector<std::size_t> target_types_;
  kernels::Executor executor_;
  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<TemporalInputs> inputs_;
  torch::Tensor projection_;  // f32 [hidden]
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<nn::Linear> out_;
};

}  // namespace sluice::models
