// RepeatedNodes: queries of nodes drawn with repeats, so that a mini-batch asks about some more
// than once: a query source of one's own.
#pragma once

#include <sluice/array.h>
#include <sluice/query.h>
#include <sluice/random.h>

#include <cstdint>
#include <utility>

class RepeatedNodes final : public sluice::QuerySource {
 public:
  /// @param nodes u64 [n], of the graph's only type
  RepeatedNodes(sluice::Array nodes, std::uint64_t batch_size, sluice::RandomKey key)
      : nodes_(std::move(nodes)), batch_size_(batch_size), key_(key) {}

  std::uint64_t num_batches() const override {
    return (num_queries() + batch_size_ - 1) / batch_size_;
  }
  std::uint64_t num_queries() const override { return static_cast<std::uint64_t>(nodes_.numel()); }
  sluice::Result<sluice::QueryBatch> batch(std::uint64_t epoch,
                                           std::uint64_t index,
                                           sluice::MemoryLedger* ledger) const override;

 private:
  sluice::Array nodes_;
  std::uint64_t batch_size_;
  sluice::RandomKey key_;
};
