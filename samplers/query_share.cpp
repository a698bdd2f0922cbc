#include <sluice/samplers/query_share.h>

#include <fmt/format.h>

#include <utility>

namespace sluice {

QueryShare::QueryShare(std::shared_ptr<const QuerySource> all,
                       std::uint64_t rank,
                       std::uint64_t ranks,
                       Remainder remainder)
    : all_(std::move(all)), rank_(rank), ranks_(ranks), remainder_(remainder) {
  if (rank_ < ranks_) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("rank {} of {} processes", rank_, ranks_),
              "ranks are numbered from 0: rank < world_size");
}

std::uint64_t QueryShare::num_batches() const {
  const std::uint64_t all = all_->num_batches();
  const bool one_more = remainder_ == Remainder::kKept && rank_ < all % ranks_;
  return all / ranks_ + (one_more ? 1 : 0);
}

std::uint64_t QueryShare::num_queries() const {
  const std::uint64_t batches = all_->num_batches();
  if (batches == 0) return 0;
  const double share = static_cast<double>(num_batches()) / static_cast<double>(batches);
  return static_cast<std::uint64_t>(share * static_cast<double>(all_->num_queries()));
}

Result<QueryBatch> QueryShare::batch(std::uint64_t epoch,
                                     std::uint64_t index,
                                     MemoryLedger* ledger) const {
  auto made = all_->batch(epoch, rank_ + index * ranks_, ledger);
  if (made) made.value().index = index;  // its round stays
  return made;
}

}  // namespace sluice
