#include "storage/feature/row_cache.h"
#include "core/cgroup.h"
#include "support/cache_kinds.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <numeric>
#include <set>

using namespace sluice;

namespace {

using Windows = std::vector<std::vector<std::uint64_t>>;

constexpr std::uint64_t kIds = 100;  // all ids are below

// By window and id: the number of the next window with the id, counted from 1.
std::vector<std::vector<std::uint32_t>> next_uses(const Windows& windows) {
  std::vector<std::vector<std::uint32_t>> all(windows.size());
  for (std::size_t w = 0; w < windows.size(); ++w) {
    for (const std::uint64_t id : windows[w]) {
      std::uint32_t next = kNeverUsed;
      for (std::size_t later = windows.size(); later-- > w + 1;) {
        if (std::count(windows[later].begin(), windows[later].end(), id) != 0)
          next = static_cast<std::uint32_t>(later + 1);
      }
      all[w].push_back(next);
    }
  }
  return all;
}

Windows random_windows(RandomKey key, std::size_t count, std::uint64_t ids, std::size_t most) {
  Windows windows(count);
  for (std::size_t w = 0; w < count; ++w) {
    std::set<std::uint64_t> chosen;
    const std::uint64_t size = 1 + key.below(most, 100 * w);
    // Squared, so that some ids are asked for more often.
    for (std::uint64_t i = 0; i < size; ++i) {
      const double x = key.uniform(100 * w + i + 1);
      chosen.insert(static_cast<std::uint64_t>(x * x * static_cast<double>(ids)));
    }
    windows[w].assign(chosen.begin(), chosen.end());
  }
  return windows;
}

std::unique_ptr<CachePolicy> policy_of(const std::string& name) {
  return test::make_cache_policy(name, [](std::uint64_t id) { return 1000 - id; });
}

// Counts by cause are those of a list of what was asked for when.
void check_causes(const RowDirectory::Admission& admission,
                  const std::vector<std::uint64_t>& ids,
                  const std::vector<std::uint32_t>& missing,
                  std::map<std::uint64_t, std::size_t>& last_window,
                  std::size_t w) {
  const std::set<std::uint32_t> missed(missing.begin(), missing.end());
  std::uint64_t from_window = 0;
  std::uint64_t again = 0;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    const auto known = last_window.find(ids[i]);
    if (missed.count(i) != 0) {
      again += known != last_window.end() ? 1u : 0u;
    } else {
      REQUIRE(known != last_window.end());
      from_window += known->second + 1 == w ? 1u : 0u;
    }
    last_window[ids[i]] = w;
  }
  CHECK(admission.hits_window == from_window);
  CHECK(admission.misses_again == again);
}

// Missing rows come in the table's order, and in the order of the slots that are new.
void check_order(const RowDirectory::Admission& admission,
                 const std::vector<std::uint64_t>& ids,
                 const std::vector<std::uint32_t>& missing,
                 const std::vector<std::uint32_t>& places) {
  REQUIRE(admission.fresh <= missing.size());
  for (std::size_t m = 1; m < missing.size(); ++m) {
    CHECK(ids[missing[m - 1]] < ids[missing[m]]);
    if (m < admission.fresh) CHECK(places[missing[m - 1]] + 1 == places[missing[m]]);
  }
}

// Goes through the windows as a run does and checks that every row is where it is said to be.
// Returns the rows missed.
std::uint64_t run(const Windows& windows,
                  std::uint32_t slots,
                  const std::string& policy,
                  bool known) {
  constexpr std::size_t kRowBytes = 8;
  RowCache cache({kRowBytes, slots, kIds}, policy_of(policy), nullptr);
  const auto next = next_uses(windows);
  std::map<std::uint64_t, std::size_t> last_window;  // of each id that was asked for
  std::uint64_t missed = 0;
  std::vector<std::uint32_t> places, before, missing;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const auto& ids = windows[w];
    places.resize(ids.size());
    const auto given =
        known ? std::span<const std::uint32_t>(next[w]) : std::span<const std::uint32_t>();
    // In two halves every other time: rows are read in beside the second.
    const bool halves = w % 2 == 1;
    auto admission = halves ? cache.directory.assign(ids, given, nullptr, places, missing)
                            : cache.directory.admit(ids, given, nullptr, places, missing);
    std::future<std::uint64_t> again;
    if (halves)
      again = std::async(std::launch::async,
                         [&] { return cache.directory.enter(ids, given, missing); });
    CHECK(admission.hits + missing.size() == ids.size());
    check_order(admission, ids, missing, places);
    const std::span<std::byte> table = cache.table.all();
    for (const std::uint32_t i : missing)
      std::memcpy(table.data() + places[i] * kRowBytes, &ids[i], kRowBytes);
    if (halves) admission.misses_again = again.get();
    check_causes(admission, ids, missing, last_window, w);
    CHECK(std::set(places.begin(), places.end()).size() == places.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
      REQUIRE(std::memcmp(cache.table.row(places[i]), &ids[i], kRowBytes) == 0);
    // What the window before asked for is still there, unless it was said not to be.
    if (w > 0 && !admission.exclusive) {
      for (std::size_t i = 0; i < windows[w - 1].size(); ++i)
        REQUIRE(std::memcmp(cache.table.row(before[i]), &windows[w - 1][i], kRowBytes) == 0);
    }
    before = places;
    missed += missing.size();
  }
  return missed;
}

// The fewest misses that any choice of victims gives, windows of one id each: by trying all.
class Best {
 public:
  Best(const Windows& windows, std::size_t slots) : windows_(windows), slots_(slots) {}
  std::uint64_t misses() { return from(0, {}); }

 private:
  std::uint64_t from(std::size_t w, const std::set<std::uint64_t>& kept) {
    if (w == windows_.size()) return 0;
    const auto key = std::make_pair(w, kept);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const std::uint64_t id = windows_[w][0];
    std::uint64_t best = ~std::uint64_t{0};
    if (kept.count(id) != 0) {
      best = from(w + 1, kept);
    } else if (kept.size() < slots_) {
      auto more = kept;
      more.insert(id);
      best = 1 + from(w + 1, more);
    } else {
      for (const std::uint64_t victim : kept) {
        if (w > 0 && victim == windows_[w - 1][0]) continue;  // may still be read from
        auto other = kept;
        other.erase(victim);
        other.insert(id);
        best = std::min(best, 1 + from(w + 1, other));
      }
    }
    return known_[key] = best;
  }

  const Windows& windows_;
  std::size_t slots_;
  std::map<std::pair<std::size_t, std::set<std::uint64_t>>, std::uint64_t> known_;
};

// Belady, which compares all rows each time.
class ComparesAll final : public CachePolicy {
 public:
  void choose(std::span<const CachedRow> rows,
              std::span<std::uint32_t> candidates,
              std::size_t count) override {
    belady_->choose(rows, candidates, count);
  }

 private:
  std::unique_ptr<CachePolicy> belady_ = test::make_cache_policy("belady");
};

// Ids that the next window asks for, and no others.
class Ahead final : public LookAhead {
 public:
  Ahead(const std::vector<std::uint64_t>& ids, std::uint32_t window) : ids_(ids), window_(window) {}
  std::uint32_t next_use(std::uint64_t id) const override {
    return std::ranges::binary_search(ids_, id) ? window_ : kNeverUsed;
  }

 private:
  const std::vector<std::uint64_t>& ids_;
  std::uint32_t window_;
};

}  // namespace

TEST_CASE("rows without a next use that give way first are those that all would be compared for") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    const Windows windows = random_windows(key, 60, kIds, 14);
    const auto next = next_uses(windows);
    const auto slots = static_cast<std::uint32_t>(14 + key.below(40, 9999));
    RowCache first({8, slots, kIds}, test::make_cache_policy("belady"), nullptr);
    RowCache all({8, slots, kIds}, std::make_unique<ComparesAll>(), nullptr);
    REQUIRE(first.directory.policy().takes_unused_first());
    REQUIRE_FALSE(all.directory.policy().takes_unused_first());
    std::vector<std::uint32_t> places, expected_places, missing, expected;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      // What is known changes: the whole trace, the next window, or nothing.
      const std::uint64_t known = seed % 3 == 0 ? key.below(4, 5000 + w) : 0;
      const auto given =
          known < 2 ? std::span<const std::uint32_t>(next[w]) : std::span<const std::uint32_t>();
      const Ahead ahead(windows[std::min(w + 1, windows.size() - 1)],
                        static_cast<std::uint32_t>(w + 2));
      const LookAhead* const look = known == 2 ? &ahead : nullptr;
      places.resize(windows[w].size());
      expected_places.resize(windows[w].size());
      const auto one = first.directory.admit(windows[w], given, look, places, missing);
      const auto other = all.directory.admit(windows[w], given, look, expected_places, expected);
      CHECK(missing == expected);
      CHECK(places == expected_places);
      CHECK(one.exclusive == other.exclusive);
      CHECK(one.evicted == other.evicted);
      CHECK(one.fresh == other.fresh);
    }
  }
}

TEST_CASE("every policy keeps every row where it says, for random windows and sizes") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    const Windows windows = random_windows(key, 60, 80, 12);
    const auto slots = static_cast<std::uint32_t>(12 + key.below(50, 9999));
    for (const std::string& policy : test::cache_names()) {
      CAPTURE(policy);
      const std::uint64_t missed = run(windows, slots, policy, true);
      CHECK(run(windows, slots, policy, true) == missed);
      (void)run(windows, slots, policy, false);
    }
  }
}

TEST_CASE("belady with a known future misses no more than any choice of victims") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Windows windows = random_windows(RandomKey(seed), 14, 6, 1);
    const std::uint64_t best = Best(windows, 3).misses();
    CHECK(run(windows, 3, "belady", true) == best);
    for (const std::string& policy : test::cache_names())
      CHECK(run(windows, 3, policy, true) >= best);
  }
}

TEST_CASE("a window that is larger than half of the cache takes the room of the one before") {
  RowCache cache({8, 10}, test::make_cache_policy("lru"), nullptr);
  std::vector<std::uint32_t> places(8), missing;
  const std::vector<std::uint64_t> first{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<std::uint64_t> second{5, 6, 7, 8, 9, 10, 11, 12};
  CHECK_FALSE(cache.directory.admit(first, {}, nullptr, places, missing).exclusive);
  const auto admission = cache.directory.admit(second, {}, nullptr, places, missing);
  CHECK(admission.exclusive);
  CHECK(admission.hits == 3);
  CHECK(admission.evicted == 3);
  std::vector<std::uint64_t> many(11);
  std::iota(many.begin(), many.end(), std::uint64_t{100});
  places.resize(11);
  const Error error =
      test::expect_error([&] { cache.directory.admit(many, {}, nullptr, places, missing); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message() == "a window needs 11 feature rows, the cache has room for 10");
}

TEST_CASE("a cache takes what it says it takes, and no more than it was given") {
  for (const std::uint64_t bytes :
       {std::uint64_t{5000}, std::uint64_t{1} << 20, std::uint64_t{123'456'789}}) {
    for (const std::size_t row_bytes : {std::size_t{4}, std::size_t{512}, std::size_t{5732}}) {
      const std::uint64_t slots = RowCache::slots_in(bytes, row_bytes);
      CHECK(RowCache::bytes_of(slots, row_bytes) <= bytes);
      CHECK(RowCache::bytes_of(slots + 1, row_bytes) > bytes);
      MemoryLedger ledger;
      const RowCache cache(
          {row_bytes, static_cast<std::uint32_t>(slots)}, test::make_cache_policy("lru"), &ledger);
      CHECK(ledger.used() == RowCache::bytes_of(slots, row_bytes));
    }
  }
}

TEST_CASE("a cache that the ledger has no room for is refused before it takes any memory") {
  MemoryLedger ledger(1 << 20);
  const std::uint64_t before = read_process_memory().peak_rss;
  const Error error = test::expect_error([&] {
    RowCache({512, std::uint32_t{1} << 28}, test::make_cache_policy("lru"), &ledger);
  });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(read_process_memory().peak_rss < before + (std::uint64_t{256} << 20));
  CHECK(ledger.used() == 0);
}

TEST_CASE(
    "rows count as new again once a cache was emptied, and all do where none are told apart") {
  std::vector<std::uint32_t> places(2), missing;
  const std::vector<std::uint64_t> first{1, 2}, second{3, 4};
  MemoryLedger ledger;
  RowCache cache({8, 2, 100}, test::make_cache_policy("lru"), &ledger);
  CHECK(ledger.used() == RowCache::bytes_of(2, 8) + RowDirectory::bytes_of_table(100));
  CHECK(cache.directory.admit(first, {}, nullptr, places, missing).misses_again == 0);
  CHECK(cache.directory.admit(second, {}, nullptr, places, missing).misses_again == 0);
  CHECK(cache.directory.admit(first, {}, nullptr, places, missing).misses_again == 2);
  cache.directory.clear();
  CHECK(cache.directory.admit(first, {}, nullptr, places, missing).misses_again == 0);
  RowCache plain({8, 2}, test::make_cache_policy("lru"), nullptr);
  for (const auto& ids : {first, second, first})
    CHECK(plain.directory.admit(ids, {}, nullptr, places, missing).misses_again == 0);
}

TEST_CASE("a cache that forgets its rows keeps the memory of as many slots as it is told to") {
  constexpr std::uint32_t kSlots = 40'000;
  constexpr std::size_t kRowBytes = 1024;
  for (const std::uint32_t kept : {0u, 1u, 20'000u, kSlots}) {
    CAPTURE(kept);
    MemoryLedger ledger;
    RowCache cache({kRowBytes, kSlots}, test::make_cache_policy("lru"), &ledger);
    const std::uint64_t all = ledger.used();
    std::memset(cache.table.all().data(), 1, cache.table.all().size());
    cache.forget_rows(kept);
    CHECK(cache.directory.resident() == 0);
    CHECK(cache.table.held_bytes() == round_up_to_page(kept * kRowBytes));
    CHECK(ledger.used() == all - round_up_to_page(kSlots * kRowBytes) + cache.table.held_bytes());
    // What is asked for again is there, charged, and may be filled in.
    CHECK(cache.table.first(30'000).size() == 30'000 * kRowBytes);
    CHECK(cache.table.held_bytes() == round_up_to_page(std::max(kept, 30'000u) * kRowBytes));
    std::memset(cache.table.all().data(), 2, cache.table.all().size());
    CHECK(ledger.used() == all);
    std::vector<std::uint32_t> places(3), missing;
    CHECK(cache.directory.admit(std::vector<std::uint64_t>{5, 6, 7}, {}, nullptr, places, missing)
              .fresh == 3);
    cache.forget_rows(0);
    CHECK(cache.table.held_bytes() == 0);
  }
}

TEST_CASE("a cache goes by what it is told last of its rows' next uses") {
  std::vector<std::uint32_t> places(2), missing;
  RowCache cache({8, 6}, test::make_cache_policy("belady"), nullptr);
  const std::vector<std::uint32_t> next{3, kNeverUsed};
  // The third window takes the slots of two rows out of four that the second does not protect.
  for (const std::uint64_t first : {10u, 20u, 30u}) {
    cache.directory.admit(
        std::vector<std::uint64_t>{first, first + 1}, next, nullptr, places, missing);
  }
  cache.directory.tell_next_uses(10, std::vector<std::uint32_t>{kNeverUsed, 5});
  cache.directory.tell_next_uses(20, std::vector<std::uint32_t>{4, kNeverUsed, 7});
  cache.directory.tell_next_uses(31, std::vector<std::uint32_t>{});
  CHECK(cache.directory.resident() == 6);
  cache.directory.admit(std::vector<std::uint64_t>{40, 41}, next, nullptr, places, missing);
  CHECK(missing.size() == 2);
  // 10 and 21 gave way, which are not asked for again; 30 and 31 are of the window before.
  cache.directory.admit(std::vector<std::uint64_t>{11, 20}, next, nullptr, places, missing);
  CHECK(missing.empty());
}

TEST_CASE("of a trace that is told in two parts no row is looked for in vain that is here") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Windows windows = random_windows(RandomKey(seed), 40, kIds, 12);
    const std::size_t first = RandomKey(seed).below(windows.size() - 1, 7) + 1;
    const Windows part(windows.begin(), windows.begin() + static_cast<std::ptrdiff_t>(first));
    const auto of_part = next_uses(part);
    const auto whole = next_uses(windows);
    RowCache cache({8, 30}, test::make_cache_policy("belady"), nullptr);
    std::map<std::uint32_t, std::uint64_t> here;  // ids by slot
    std::vector<std::uint32_t> places, missing;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      if (w == first) {
        std::vector<std::uint32_t> later(kIds, kNeverUsed);
        for (std::size_t v = windows.size(); v-- > first;) {
          for (const std::uint64_t id : windows[v]) later[id] = static_cast<std::uint32_t>(v + 1);
        }
        cache.directory.tell_next_uses(0, std::span(later).first(kIds / 2));
        cache.directory.tell_next_uses(kIds / 2, std::span(later).subspan(kIds / 2));
      }
      const auto& ids = windows[w];
      places.resize(ids.size());
      cache.directory.admit(ids, w < first ? of_part[w] : whole[w], nullptr, places, missing);
      std::set<std::uint64_t> held;
      for (const auto& [slot, id] : here) held.insert(id);
      for (std::uint32_t i = 0; i < ids.size(); ++i) {
        const bool missed = std::ranges::binary_search(missing, i);
        CHECK(missed == (held.count(ids[i]) == 0));
        if (!missed) CHECK(here[places[i]] == ids[i]);
      }
      for (const std::uint32_t i : missing) here[places[i]] = ids[i];
    }
  }
}

TEST_CASE("an unknown policy is told with the nearest") {
  const Error error = test::expect_error([] { test::make_cache_policy("beladdy"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.hint().find("belady") != std::string::npos);
}

TEST_CASE("policies that rank choose what sorting by worth and slot would") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    const std::size_t slots = 1 + key.below(3000, 0);
    // Few and many distinct worths, near each other and far.
    const std::uint64_t spread = std::uint64_t{1} << key.below(32, 1);
    const std::uint64_t base = key.draw(2) >> 33;  // sums below 2^32
    std::vector<std::uint64_t> hotness(slots);
    std::vector<CachedRow> rows(slots);
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      hotness[slot] = base + key.below(spread, 10 + slot);
      rows[slot].id = slot;
      if (key.below(3, 5000 + slot) != 0) candidates.push_back(slot);
    }
    const std::size_t count = key.below(candidates.size() + 1, 3);
    std::vector<std::uint32_t> wanted = candidates;
    std::sort(wanted.begin(), wanted.end(), [&](std::uint32_t a, std::uint32_t b) {
      return hotness[a] != hotness[b] ? hotness[a] < hotness[b] : a > b;
    });
    std::sort(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::uint32_t> left = candidates;
    const auto policy =
        test::make_cache_policy("degree", [&](std::uint64_t id) { return hotness[id]; });
    policy->choose(rows, candidates, count);
    CHECK(std::equal(
        wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count), candidates.begin()));
    std::sort(candidates.begin(), candidates.end());
    CHECK(candidates == left);
  }
}
