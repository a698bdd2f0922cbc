// QueryShare: the mini-batches of one of several processes that go through an epoch together: rank
// r of n has those numbered r, r + n, r + 2 n, ... of a source's.
//
// Together the ranks have just the source's mini-batches, each the same bits as alone but for its
// number: draws are keyed by the number that it has in the source.
#pragma once

#include <sluice/query.h>

#include <cstdint>
#include <memory>

namespace sluice {

/// What becomes of mini-batches that not every rank would have one of, at an epoch's end.
enum class Remainder {
  kKept,    ///< the first ranks have one more
  kDropped  ///< none has them: all ranks have as many, as those must that wait for each other
};

class QueryShare final : public QuerySource {
 public:
  /// Throws kUsage unless rank < ranks.
  QueryShare(std::shared_ptr<const QuerySource> all,
             std::uint64_t rank,
             std::uint64_t ranks,
             Remainder remainder);

  std::uint64_t num_batches() const override;
  /// As if all mini-batches asked as much: the sources do not tell.
  std::uint64_t num_queries() const override;
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override;

 private:
  std::shared_ptr<const QuerySource> all_;
  std::uint64_t rank_;
  std::uint64_t ranks_;
  Remainder remainder_;
};

}  // namespace sluice
