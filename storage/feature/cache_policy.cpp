#include "storage/feature/cache_policy.h"

#include <sluice/catalog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>

namespace sluice {
namespace {

// The `limit` for which `count` numbers lie below it or on it, but for `spared` of those on it.
struct Divide {
  std::uint32_t limit;
  std::size_t spared;
};

// Digit by digit, from the first in which the numbers differ on. `left` is used up.
Divide find_least(std::span<std::uint32_t> left, std::size_t count) {
  constexpr int kBits = 11;
  constexpr std::size_t kSides = 4;
  for (;;) {
    std::uint32_t least = left.front();
    std::uint32_t most = left.front();
    for (const std::uint32_t number : left) {
      least = std::min(least, number);
      most = std::max(most, number);
    }
    if (least == most) return {least, left.size() - count};
    const int shift = std::max(static_cast<int>(std::bit_width(least ^ most)) - kBits, 0);
    const std::uint32_t first = least >> shift;
    // Side by side: equal numbers follow each other, and each count would wait for the last.
    std::array<std::array<std::uint32_t, kSides>, 1u << kBits> sides{};
    for (std::size_t i = 0; i < left.size(); ++i) ++sides[(left[i] >> shift) - first][i % kSides];
    const auto held = [&](std::uint32_t digit) {
      return std::accumulate(sides[digit].begin(), sides[digit].end(), std::size_t{0});
    };
    std::uint32_t digit = 0;
    while (count > held(digit)) count -= held(digit++);
    std::size_t kept = 0;
    for (const std::uint32_t number : left) {
      left[kept] = number;
      kept += (number >> shift) - first == digit ? 1u : 0u;
    }
    left = left.first(kept);
  }
}

// Policies that rank rows by a number: the lowest give way, the highest slot first among equals.
// New rows come into slots in the order of their ids, and where nodes are in the order of their
// degree low ids are asked for more often.
template <class Worth>
class RankingPolicy final : public CachePolicy {
 public:
  RankingPolicy(std::string_view name, Worth worth, bool takes_unused_first)
      : name_(name), worth_(std::move(worth)), takes_unused_first_(takes_unused_first) {}
  std::string_view name() const override { return name_; }
  bool takes_unused_first() const override { return takes_unused_first_; }

  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override {
    if (count == 0 || count == candidates.size()) return;
    worths_.clear();
    for (const std::uint32_t slot : candidates) worths_.push_back(worth_(rows[slot]));
    sorting_ = worths_;
    Divide divide = find_least(sorting_, count);
    // No branch is taken by worth: it could not be foreseen.
    std::size_t chosen = 0;
    for (std::size_t i = 0; chosen < count; ++i) {
      const std::size_t equal = worths_[i] == divide.limit ? 1 : 0;
      const std::size_t spared = equal & (divide.spared != 0 ? 1u : 0u);
      std::swap(candidates[chosen], candidates[i]);
      chosen += (worths_[i] < divide.limit ? 1u : 0u) | (equal & ~spared);
      divide.spared -= spared;
    }
  }

 private:
  std::string_view name_;
  Worth worth_;
  bool takes_unused_first_;
  std::vector<std::uint32_t> worths_;   // of the candidates; reused between calls
  std::vector<std::uint32_t> sorting_;  // likewise
};

template <class Worth>
std::unique_ptr<CachePolicy> rank_by(std::string_view name,
                                     Worth worth,
                                     bool takes_unused_first = false) {
  return std::make_unique<RankingPolicy<Worth>>(name, std::move(worth), takes_unused_first);
}

std::uint32_t belady_worth(const CachedRow& row) {
  constexpr std::uint32_t kKnown = 1u << 31;
  if (row.next_use != kNeverUsed) return kKnown + (kKnown - 1 - std::min(row.next_use, kKnown - 1));
  // Beyond what is known: the share of windows that used it, with a few windows' doubt, so that a
  // row that has just come for once does not look like one of every window.
  constexpr std::uint64_t kDoubt = 4;
  const std::uint64_t age = row.last_use - row.admitted + 1;
  return static_cast<std::uint32_t>((std::uint64_t{row.uses} << 20) / (age + kDoubt));
}

class ClockPolicy final : public CachePolicy {
 public:
  std::string_view name() const override { return "clock"; }

  // The hand goes over the candidates by slot. A row that was used since the hand passed it last
  // gets a second chance: its use counts as seen.
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override {
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
    victims.insert(
        victims.end(), spared.begin(), spared.begin() + static_cast<std::ptrdiff_t>(more));
    spared.erase(spared.begin(), spared.begin() + static_cast<std::ptrdiff_t>(more));
    auto out = std::copy(victims.begin(), victims.end(), candidates.begin());
    out = std::copy(spared.begin(), spared.end(), out);
    std::copy(rest.begin(), rest.end(), out);
  }

  void reset() override {
    hand_ = 0;
    seen_.clear();
  }

 private:
  std::uint32_t hand_ = 0;
  std::vector<std::uint64_t> seen_;  // by slot: last use and count when the hand passed, plus one
};

}  // namespace

std::vector<std::string> cache_policy_names() {
  return {"belady", "lru", "clock", "degree", "none"};
}

std::unique_ptr<CachePolicy> make_cache_policy(std::string_view name, HotnessOf hotness) {
  if (name == "belady")
    return rank_by(
        "belady",
        [](const CachedRow& row) { return belady_worth(row); },
        /*takes_unused_first=*/true);
  if (name == "lru") return rank_by("lru", [](const CachedRow& row) { return row.last_use; });
  if (name == "clock") return std::make_unique<ClockPolicy>();
  if (name == "none") return rank_by("none", [](const CachedRow&) { return 0u; });
  if (name == "degree") {
    if (!hotness) throw Error(ErrorCode::kInternal, "cache policy 'degree' without degrees");
    return rank_by("degree", [of = std::move(hotness)](const CachedRow& row) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(of(row.id), ~0u));
    });
  }
  throw unknown_name("cache policy", name, cache_policy_names());
}

}  // namespace sluice
