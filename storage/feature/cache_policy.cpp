#include "storage/feature/cache_policy.h"

#include <sluice/catalog.h>

#include <algorithm>

namespace sluice {
namespace {

// Policies that rank rows by a number: the lowest give way, the lowest slot first among equals.
class RankingPolicy : public CachePolicy {
 public:
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) final {
    if (count == 0) return;
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    if (count < candidates.size()) {
      std::nth_element(candidates.begin(), end, candidates.end(), [&](auto a, auto b) {
        const std::uint64_t worth_a = worth(rows[a]);
        const std::uint64_t worth_b = worth(rows[b]);
        return worth_a != worth_b ? worth_a < worth_b : a < b;
      });
    }
    // nth_element leaves an order of its own on either side; slots ascend so that rows that were
    // read together stay close.
    std::sort(candidates.begin(), end);
  }

 protected:
  virtual std::uint64_t worth(const CachedRow& row) const = 0;
};

class BeladyPolicy final : public RankingPolicy {
 public:
  std::string_view name() const override { return "belady"; }

 protected:
  std::uint64_t worth(const CachedRow& row) const override {
    constexpr std::uint64_t kKnown = std::uint64_t{1} << 32;
    if (row.next_use != kNeverUsed) return kKnown + (kNeverUsed - row.next_use);
    // Beyond what is known: the share of windows that used it, with a few windows' doubt, so that a
    // row that has just come for once does not look like one of every window.
    constexpr std::uint64_t kDoubt = 4;
    const std::uint64_t age = row.last_use - row.admitted + 1;
    return (std::uint64_t{row.uses} << 20) / (age + kDoubt);
  }
};

class LruPolicy final : public RankingPolicy {
 public:
  std::string_view name() const override { return "lru"; }

 protected:
  std::uint64_t worth(const CachedRow& row) const override { return row.last_use; }
};

class DegreePolicy final : public RankingPolicy {
 public:
  explicit DegreePolicy(HotnessOf hotness) : hotness_(std::move(hotness)) {}
  std::string_view name() const override { return "degree"; }

 protected:
  std::uint64_t worth(const CachedRow& row) const override { return hotness_(row.id); }

 private:
  HotnessOf hotness_;
};

class NonePolicy final : public RankingPolicy {
 public:
  std::string_view name() const override { return "none"; }

 protected:
  std::uint64_t worth(const CachedRow&) const override { return 0; }
};

class ClockPolicy final : public CachePolicy {
 public:
  std::string_view name() const override { return "clock"; }

  // The hand goes over the candidates by slot. A row that was used since the hand passed it last
  // gets a second chance: its use counts as seen.
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override {
    seen_.resize(rows.size(), 0);
    std::sort(candidates.begin(), candidates.end());
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
  if (name == "belady") return std::make_unique<BeladyPolicy>();
  if (name == "lru") return std::make_unique<LruPolicy>();
  if (name == "clock") return std::make_unique<ClockPolicy>();
  if (name == "none") return std::make_unique<NonePolicy>();
  if (name == "degree") {
    if (!hotness) throw Error(ErrorCode::kInternal, "cache policy 'degree' without degrees");
    return std::make_unique<DegreePolicy>(std::move(hotness));
  }
  throw unknown_name("cache policy", name, cache_policy_names());
}

}  // namespace sluice
