// LabelQueries: queries of nodes at the times of their labels, each once an epoch, in the order of
// (time, node).
//
// Seeds are nodes at times, each query one of them; or nodes alone, for models that sample nothing:
// then a node is a seed once, and Queries::times tells when it is asked about. Mini-batches cut the
// order anywhere: what a query sees goes by its own time.
#pragma once

#include "tasks/dynamic_node_labels.h"

#include <sluice/query.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::tasks {

enum class LabelSeeds {
  kNodes,  ///< nodes alone
  kTimes   ///< nodes at times
};

struct LabelQueryOptions {
  std::size_t node_type = 0;  ///< index into GraphSchema::nodes
  std::size_t num_types = 1;  ///< of the schema
  std::uint64_t first = 0;    ///< numbers of the labels that are asked about: [first, last)
  std::uint64_t last = 0;
  std::int64_t batch_size = 1024;
  LabelSeeds seeds = LabelSeeds::kTimes;
};

class LabelQueries final : public QuerySource {
 public:
  /// @pre first <= last <= labels->size(), node_type < num_types. Throws kUsage for a batch size of
  /// 0.
  LabelQueries(std::shared_ptr<const NodeLabels> labels, const LabelQueryOptions& options);

  std::uint64_t num_batches() const override;
  std::uint64_t num_queries() const override { return options_.last - options_.first; }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  Result<void> list_nodes(QueryBatch& batch, MemoryLedger* ledger) const;
  void list_timed_nodes(QueryBatch& batch) const;

  std::shared_ptr<const NodeLabels> labels_;
  LabelQueryOptions options_;
};

}  // namespace sluice::tasks
