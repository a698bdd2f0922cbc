// GraphQueries: queries of whole graphs of a dataset of many small ones (GraphCollection), each
// once an epoch. The seeds of a mini-batch are all nodes of its graphs.
#pragma once

#include <sluice/array.h>
#include <sluice/query.h>
#include <sluice/samplers/seed_order.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice {

struct GraphQueryOptions {
  Array graphs;                     ///< u64 [n]: numbers of distinct graphs
  Array offsets;                    ///< u64 [all graphs + 1]: GraphCollection::offsets
  std::size_t type = 0;             ///< the node type that they are ranges of
  std::int64_t batch_size = 32;     ///< graphs a mini-batch
  Shuffle shuffle = Shuffle::kOff;  ///< another order every epoch, or that of `graphs`
  RandomKey key{1};                 ///< of the run's seed
};

class GraphQueries final : public QuerySource {
 public:
  /// Throws kUsage for a batch size of 0, kData for a graph that is not there.
  /// @param num_types node types of the schema
  GraphQueries(GraphQueryOptions options, std::size_t num_types);

  std::uint64_t num_batches() const override { return order_.num_batches(); }
  std::uint64_t num_queries() const override {
    return static_cast<std::uint64_t>(options_.graphs.numel());
  }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  // The nodes of a graph: [first, last).
  std::pair<std::uint64_t, std::uint64_t> nodes_of(std::uint64_t graph) const {
    const auto offsets = options_.offsets.as<std::uint64_t>();
    return {offsets[graph], offsets[graph + 1]};
  }

  GraphQueryOptions options_;
  std::size_t num_types_;
  SeedOrder order_;
};

}  // namespace sluice
