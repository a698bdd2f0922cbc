// PairModel: a model that scores a source beside destinations at a time from what came before,
// without a row a node: EdgeBank, recency, a network over exact features of the pair.
//
// A task about links at times asks one for its scores in the place of Model::encode and a decoder.
// Such a model samples no neighbours: it is given the relation's whole history (a PairHistory, as
// samplers/pair_history.h has it) and, for each query, up to where it may be looked at. What has no
// parameters is run with train.epochs = 0. Used by one thread at a time.
#pragma once

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/model.h>
#include <sluice/query.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

class PairHistory;

/// Queries of one mini-batch, q of them, each with c candidates; borrowed.
struct PairRequest {
  const PairHistory& history;              ///< of the relation, with events that came later too
  std::int64_t training_first;             ///< time of the first event of training
  std::int64_t training_last;              ///< and of its last
  std::span<const std::uint64_t> sources;  ///< [q]: dense ids
  std::span<const std::int64_t> times;     ///< [q]: when each is asked
  std::span<const TemporalCut> bounds;     ///< [q]: only events below (time, edge id) count
  std::span<const std::int64_t> latest;    ///< [q]: when the last event below the bound was
  std::span<const std::uint64_t> destinations;  ///< [q, c]: dense ids; kNoNode: nobody, any score
  std::size_t candidates() const {
    return sources.empty() ? 0 : destinations.size() / sources.size();
  }
};

class PairModel : public Model {
 public:
  /// Makes ready for a history, before score() is asked about it; again where the data has grown.
  /// @param history outlives its use here @param ledger charged for what grows with it. Throws
  /// kResource.
  virtual void read(const PairHistory& /*history*/, MemoryLedger* /*ledger*/) {}
  /// f32 or f64 [q, c], finite, on the host or on the model's device: the higher, the likelier.
  /// What is the same may be ranked as the same, so scores that order by time are f64. A function
  /// of what is below each query's bound alone.
  virtual torch::Tensor score(const PairRequest& request) = 0;

  // Seeds alone: it encodes nothing, and wants neither neighbours nor features.

  Encoding encode(const Batch& /*batch*/) final {
    throw Error(ErrorCode::kUsage,
                "this model scores pairs of nodes at times, and encodes no nodes",
                "set task.type = \"temporal_link_prediction\", or choose another model");
  }
  std::int64_t num_layers() const final { return 0; }
  BatchNeeds needs() const final {
    BatchNeeds none;
    none.feature_groups.clear();
    return none;
  }
};

/// A task that can ask a model for scores of pairs.
class PairTask {
 public:
  virtual ~PairTask() = default;
  /// Makes ready what the model is asked by, and the model (read()); once a run's data is attached,
  /// before queries are.
  /// @param visibility which events a query may see, as SamplerMethod::visibility() says. Throws
  /// kUsage where the sampler asks for no times or shows the events asked about, kResource.
  virtual void serve(PairModel& model, std::string_view visibility) = 0;
};

}  // namespace sluice
