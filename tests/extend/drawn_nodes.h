// DrawnNodes: queries of nodes drawn with repeats, so that a mini-batch asks about some nodes more
// than once: a query source of a user's own.
#pragma once

#include <sluice/array.h>
#include <sluice/query.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>

namespace extend {

class DrawnNodes final : public sluice::QuerySource {
 public:
  /// @param nodes u64 [n] of node type `type`, of `num_types`
  DrawnNodes(sluice::Array nodes,
             std::size_t type,
             std::size_t num_types,
             std::int64_t batch_size,
             sluice::RandomKey key)
      : nodes_(std::move(nodes)),
        type_(type),
        num_types_(num_types),
        batch_size_(static_cast<std::uint64_t>(batch_size)),
        key_(key) {}

  std::uint64_t num_batches() const override {
    return (num_queries() + batch_size_ - 1) / batch_size_;
  }
  std::uint64_t num_queries() const override { return static_cast<std::uint64_t>(nodes_.numel()); }
  sluice::Result<sluice::QueryBatch> batch(std::uint64_t epoch,
                                           std::uint64_t index,
                                           sluice::MemoryLedger* ledger) const override;

 private:
  sluice::Array nodes_;
  std::size_t type_;
  std::size_t num_types_;
  std::uint64_t batch_size_;
  sluice::RandomKey key_;
};

}  // namespace extend
