#include "storage/feature/cache_policies.h"

#include <algorithm>

namespace sluice {

void ClockPolicy::choose(std::span<const CachedRow> rows,
                         std::span<std::uint32_t> candidates,
                         std::size_t count) {
  seen_.resize(rows.size(), 0);
  const auto from = std::lower_bound(candidates.begin(), candidates.end(), hand_);
  std::rotate(candidates.begin(), from, candidates.end());
  std::vector<std::uint32_t> victims;
  std::vector<std::uint32_t> spared;
  std::size_t at = 0;
  for (; at < candidates.size() && victims.size() < count; ++at) {
    const std::uint32_t slot = candidates[at];
    const std::uint64_t mark = (std::uint64_t{rows[slot].last_use} << 32 | rows[slot].uses) + 1;
    const bool used = rows[slot].uses > 1 && seen_[slot] != mark;
    seen_[slot] = mark;
    (used ? spared : victims).push_back(slot);
    hand_ = slot + 1;
  }
  std::vector<std::uint32_t> rest(candidates.begin() + static_cast<std::ptrdiff_t>(at),
                                  candidates.end());
  // A whole round spared too many: the first of them go after all.
  const std::size_t more = count - std::min(count, victims.size());
  victims.insert(victims.end(), spared.begin(), spared.begin() + static_cast<std::ptrdiff_t>(more));
  spared.erase(spared.begin(), spared.begin() + static_cast<std::ptrdiff_t>(more));
  auto out = std::copy(victims.begin(), victims.end(), candidates.begin());
  out = std::copy(spared.begin(), spared.end(), out);
  std::copy(rest.begin(), rest.end(), out);
}

void ClockPolicy::reset() {
  hand_ = 0;
  seen_.clear();
}

}  // namespace sluice
