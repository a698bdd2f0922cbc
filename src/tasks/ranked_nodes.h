// RanksAllNodes: a task that may rank among all nodes of a type. It wants the rows of all of them:
// learned rows as they are, or those of an encoder, made layer by layer. Where a run makes such
// rows once alone, when training is done, the task ranks among drawn nodes until then.
#pragma once

namespace sluice::tasks {

enum class RankedAmong {
  kAll,   ///< where its options want that
  kDrawn  ///< whatever its options want
};

class RanksAllNodes {
 public:
  virtual ~RanksAllNodes() = default;
  /// Whether its options want ranks among all nodes.
  virtual bool wants_all_nodes() const = 0;
  /// For queries, outputs and metrics that are asked for from now on; kAll until it is told.
  virtual void rank_among(RankedAmong among) = 0;
  /// Told before the task is attached to data: training links will be ranked too, beside no other
  /// link that is known.
  virtual void expect_training_links() = 0;
};

}  // namespace sluice::tasks
