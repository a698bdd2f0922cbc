// Query sources of training that goes on over what was appended while it asks old queries again.
//
// Torch-free, thread-safe.
#pragma once

#include "samplers/replay_buffer.h"

#include <sluice/array.h>
#include <sluice/graph_schema.h>
#include <sluice/query.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice {

/// Old queries in the place of all: so many mini-batches, each drawn anew.
struct ReplayedQueries {
  std::shared_ptr<const ReplayBuffer> buffer;  ///< with queries
  std::uint64_t batches = 0;                   ///< an epoch

  /// Queries of each, where so many are wanted: at most as many as there are.
  std::uint64_t in_batch(std::int64_t batch_size) const;
};

/// Mini-batches of two sources in turns: an old one, then a new one. Both of a pair make one step.
class ReplayMix final : public QuerySource {
 public:
  /// @param old has as many mini-batches as `fresh`
  ReplayMix(std::unique_ptr<QuerySource> old, std::unique_ptr<QuerySource> fresh);

  /// Whether the mini-batch of this number is of old queries.
  static bool is_old(std::uint64_t index) { return index % 2 == 0; }

  std::uint64_t num_batches() const override { return 2 * fresh_->num_batches(); }
  std::uint64_t num_queries() const override { return old_->num_queries() + fresh_->num_queries(); }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  std::unique_ptr<QuerySource> old_, fresh_;
};

struct ReplayNodeOptions {
  Array nodes;           ///< u64 [n]: the old nodes, by their numbers in the buffer
  std::size_t type = 0;  ///< theirs
  std::int64_t batch_size = 1024;
  Array times{};  ///< i64 [nodes of the type]: when each is asked about; empty: not by time
};

/// Nodes of a buffer; one that weighs much may be asked about more than once in a mini-batch, and
/// is among its seeds once.
class ReplayNodeQueries final : public QuerySource {
 public:
  ReplayNodeQueries(const GraphSchema& schema, ReplayNodeOptions options, ReplayedQueries replayed);

  std::uint64_t num_batches() const override { return replayed_.batches; }
  std::uint64_t num_queries() const override {
    return replayed_.batches * replayed_.in_batch(options_.batch_size);
  }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  Result<void> add_times(QueryBatch& batch, MemoryLedger* ledger) const;

  ReplayNodeOptions options_;
  ReplayedQueries replayed_;
  std::size_t num_types_;
};

}  // namespace sluice
