// RankedPolicy: a cache policy that ranks rows by a number of 32 bits, `worth(row)` of the class
// that derives from it. The lowest give way, the highest slot first among equals: new rows come
// into slots in the order of their ids, and where nodes are in the order of their degree low ids
// are asked for more often.
//
//   class LruPolicy final : public RankedPolicy<LruPolicy> {
//    public:
//     std::uint32_t worth(const CachedRow& row) const { return row.last_use; }
//   };
#pragma once

#include <sluice/cache_policy.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Moves the `count` candidates of least worth to the front. @param worths of the candidates
/// @param sorting scratch. @pre 0 < count < candidates.size()
void take_least(std::span<const std::uint32_t> worths,
                std::span<std::uint32_t> candidates,
                std::size_t count,
                std::vector<std::uint32_t>& sorting);

template <class Own>
class RankedPolicy : public CachePolicy {
 public:
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) final {
    if (count == 0 || count == candidates.size()) return;
    worths_.clear();
    for (const std::uint32_t slot : candidates)
      worths_.push_back(static_cast<const Own&>(*this).worth(rows[slot]));
    take_least(worths_, candidates, count, sorting_);
  }

 private:
  std::vector<std::uint32_t> worths_;   // of the candidates; reused between calls
  std::vector<std::uint32_t> sorting_;  // likewise
};

}  // namespace sluice
