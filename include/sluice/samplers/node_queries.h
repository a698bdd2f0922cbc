// NodeQueries: queries of nodes of one type, each once an epoch, in an order of seeds.
#pragma once

#include <sluice/array.h>
#include <sluice/query.h>
#include <sluice/sampler.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice {

/// Which nodes are asked about, and in what order.
struct NodeQueryOptions {
  Array nodes;           ///< u64 [n]: distinct nodes
  std::size_t type = 0;  ///< theirs
  std::int64_t batch_size = 1024;
  bool shuffle = true;  ///< another order every epoch
  RandomKey key{1};     ///< of the run's seed
  /// Whose order the mini-batches have, where it has one of its own; null: none has.
  std::shared_ptr<const SamplerMethod> sampler = nullptr;
  /// i64 [nodes of the type]: when each is asked about; empty: not by time.
  Array times{};
};

class NodeQueries final : public QuerySource {
 public:
  /// @param ledger of what a sampler's own order keeps; must outlive this. Throws kUsage for a
  /// batch size below 1, nodes that are not u64, a type that the graph lacks and too few times, and
  /// what SamplerMethod::make_order throws.
  NodeQueries(const GraphSchema& schema, NodeQueryOptions options, MemoryLedger* ledger);

  std::uint64_t num_batches() const override { return order_->num_batches(); }
  std::uint64_t num_queries() const override {
    return static_cast<std::uint64_t>(options_.nodes.numel());
  }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  Result<void> add_times(QueryBatch& batch, MemoryLedger* ledger) const;

  NodeQueryOptions options_;
  std::size_t num_types_;
  std::unique_ptr<BatchOrder> order_;
};

}  // namespace sluice
