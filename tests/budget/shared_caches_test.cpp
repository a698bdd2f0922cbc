// The split of what is free between caches of learned rows and windows of features, by what each
// row saves: against every other split.
#include "budget/shared_caches.h"
#include "budget/memory_plan.h"
#include "budget/memory_ratios.h"

#include <sluice/units.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace sluice;

namespace {

CachedTable random_table(std::mt19937_64& draw, std::uint64_t most_rows) {
  CachedTable table;
  const std::uint64_t rows = 1 + draw() % most_rows;
  for (std::uint64_t row = 0; row < rows; ++row)
    ++table.uses[static_cast<std::uint32_t>(draw() % 20)];
  table.row_bytes = 1 + draw() % 500;
  table.miss_seconds = 1e-6 * static_cast<double>(1 + draw() % 400);
  table.least_rows = draw() % (rows + 2);
  return table;
}

std::uint64_t least_of(const CachedTable& table) {
  return std::min(table.least_rows, table.rows());
}

/// The least that tables may miss with so many bytes beyond their least rows, of all splits.
double best_missed(const std::vector<CachedTable>& tables, std::uint64_t bytes) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::uint64_t> rows(tables.size());
  const std::function<void(std::size_t, std::uint64_t)> go = [&](std::size_t t,
                                                                 std::uint64_t left) {
    if (t == tables.size()) {
      best = std::min(best, miss_seconds(tables, rows));
      return;
    }
    for (rows[t] = least_of(tables[t]); rows[t] <= tables[t].rows(); ++rows[t]) {
      const std::uint64_t taken = (rows[t] - least_of(tables[t])) * tables[t].row_bytes;
      if (taken > left) return;
      go(t + 1, left - taken);
    }
  };
  go(0, bytes);
  return best;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

/// A run with windows of features, and 64 MiB of learned rows on disk, 1 KiB each.
MemoryNeeds run_with_learned_rows() {
  MemoryNeeds needs;
  needs.loaded = {{"topology", 8 * kMiB, "loaded"}};
  needs.training.batches = 4;
  needs.training.block_bytes = kMiB;
  needs.training.feature_bytes = 3 * kMiB;
  needs.training.window_bytes = 4 * kMiB;
  needs.training.group = 1;
  needs.step = needs.tried = 4 * kMiB;
  needs.learned.disk = needs.learned.most = 64 * kMiB;
  needs.learned.least = 2 * kMiB;
  return needs;
}

/// So many rows, of which the first is used most: `hottest` times, and each other once less often.
CachedTable ramp(std::uint64_t rows, std::uint64_t row_bytes, double miss, std::uint64_t hottest) {
  CachedTable table;
  for (std::uint64_t row = 0; row < rows; ++row)
    ++table.uses[static_cast<std::uint32_t>(hottest - row * hottest / rows)];
  table.row_bytes = row_bytes;
  table.miss_seconds = miss;
  return table;
}

CachedTable random_ramp(std::mt19937_64& draw) {
  const std::uint64_t rows = 1 + draw() % 50'000;
  const std::uint64_t row_bytes = 1 + draw() % 4096;
  return ramp(rows, row_bytes, 1e-4, 1 + draw() % 100);
}

}  // namespace

TEST_CASE("no other split between learned rows and features saves more than one row more") {
  std::mt19937_64 draw(1);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    SharedCaches caches;
    caches.share = CacheShare::kRanked;
    for (std::uint64_t t = draw() % 3; t > 0; --t) caches.features.push_back(random_table(draw, 5));
    for (std::uint64_t t = 1 + draw() % 2; t > 0; --t)
      caches.learned.push_back(random_table(draw, 5));
    std::vector<CachedTable> all = caches.learned;
    all.insert(all.end(), caches.features.begin(), caches.features.end());
    double dearest = 0;
    for (const CachedTable& table : all)
      dearest = std::max(dearest, table.uses.begin()->first * table.miss_seconds);
    const std::uint64_t bytes = draw() % 4000;
    const std::vector<std::uint64_t> shares = learned_shares(caches, bytes);
    REQUIRE(shares.size() == caches.learned.size());
    REQUIRE(sum_of(shares) <= bytes);
    // Features make the best of what is left.
    std::vector<std::uint64_t> rows;
    for (std::size_t t = 0; t < shares.size(); ++t) {
      CHECK(shares[t] % caches.learned[t].row_bytes == 0);
      rows.push_back(least_of(caches.learned[t]) + shares[t] / caches.learned[t].row_bytes);
      CHECK(rows[t] <= caches.learned[t].rows());
    }
    const double missed =
        miss_seconds(caches.learned, rows) + best_missed(caches.features, bytes - sum_of(shares));
    const double best = best_missed(all, bytes);
    CHECK(best <= missed * (1 + 1e-9) + 1e-12);
    CHECK(missed <= (best + dearest) * (1 + 1e-9) + 1e-12);
  }
}

TEST_CASE("learned rows get of a run's memory what their rows among the best take") {
  MemoryNeeds needs = run_with_learned_rows();
  const std::uint64_t half = plan_memory(needs, 64 * kMiB).learned_cache;
  const std::uint64_t budget = 64 * kMiB;
  // 64 Ki rows each, of 1 KiB. A miss of learned rows costs three times as much: two thirds of them
  // are worth more than any row of features.
  needs.caches.share = CacheShare::kRanked;
  needs.caches.features = {ramp(64 * 1024, 1024, 1e-4, 3000)};
  needs.caches.learned = {ramp(64 * 1024, 1024, 3e-4, 3000)};
  const MemoryPlan plan = plan_memory(needs, budget);
  CHECK(plan.least == plan_memory(run_with_learned_rows(), budget).least);
  REQUIRE(plan.fits());
  CHECK(plan.bytes({}) == budget);
  REQUIRE(plan.learned_shares.size() == 1);
  CHECK(plan.learned_cache == needs.learned.least + plan.learned_shares.front());
  // All but what windows have without rows.
  std::uint64_t queue = 0;
  for (const MemoryLine& line : plan.lines)
    if (line.name == "queue") queue = line.bytes;
  const std::uint64_t windows = memory_ratios::raised(4 * kMiB);
  const std::uint64_t free = budget - plan.fixed - windows - queue;
  const std::uint64_t caches = free - std::max<std::uint64_t>(4 * kMiB, free / 8);
  REQUIRE(caches < 42 * kMiB);
  CHECK(plan.learned_shares.front() == caches / 1024 * 1024);
  CHECK(plan.learned_cache > half);
  // Features that are worth more leave them the least.
  needs.caches.features = {ramp(64 * 1024, 1024, 1e-2, 3000)};
  needs.caches.learned = {ramp(64 * 1024, 1024, 1e-6, 30)};
  CHECK(plan_memory(needs, budget).learned_cache == needs.learned.least);
  // A miss a third as dear, and half of the uses: some of both.
  needs.caches.features = {ramp(8 * 1024, 1024, 3e-4, 3000)};
  needs.caches.learned = {ramp(64 * 1024, 1024, 1e-4, 1500)};
  const std::uint64_t of_features = caches / 1024;
  REQUIRE(of_features > 8 * 1024);
  const std::uint64_t some = plan_memory(needs, budget).learned_shares.front() / 1024;
  // The count of each whose uses * cost is above one bar, by going down both lists.
  std::uint64_t learned = 0, features = 0;
  while (learned + features < of_features) {
    const double next_learned = 1500.0 * (1 - static_cast<double>(learned) / (64 * 1024));
    const double next_feature =
        features == 8 * 1024 ? 0 : 9000.0 * (1 - static_cast<double>(features) / (8 * 1024));
    ++(next_feature >= next_learned ? features : learned);
  }
  CHECK(some <= learned + 64);  // rows of equal uses stand together
  CHECK(learned <= some + 64);
}

TEST_CASE("whatever share the rule gives, a plan keeps its budget and the least of all") {
  std::mt19937_64 draw(3);
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    MemoryNeeds needs = run_with_learned_rows();
    needs.learned.ahead = draw() % 2 == 0;
    needs.training.feature_bytes = draw() % 2 * kMiB;
    const std::uint64_t least = plan_memory(needs, 0).least;
    needs.caches.share = draw() % 2 == 0 ? CacheShare::kRanked : CacheShare::kProportional;
    for (std::uint64_t t = draw() % 3; t > 0; --t)
      needs.caches.features.push_back(random_ramp(draw));
    for (std::uint64_t t = 1 + draw() % 2; t > 0; --t)
      needs.caches.learned.push_back(random_ramp(draw));
    CHECK(plan_memory(needs, 0).least == least);
    const MemoryPlan plan = plan_memory(needs, least + draw() % (128 * kMiB));
    CHECK(plan.bytes({}) == plan.budget);
    CHECK(plan.learned_cache >= needs.learned.least);
    CHECK(plan.learned_cache <= needs.learned.most);
    CHECK(plan.loader.window_bytes >= needs.training.window_bytes);
    if (plan.learned_cache == needs.learned.most) {
      CHECK(plan.learned_shares.empty());
      continue;
    }
    REQUIRE(plan.learned_shares.size() == needs.caches.learned.size());
    CHECK(needs.learned.least + sum_of(plan.learned_shares) <= plan.learned_cache);
  }
}

TEST_CASE("where all learned rows fit no share of them is told, which might be a few rows less") {
  MemoryNeeds needs = run_with_learned_rows();
  needs.caches.share = CacheShare::kRanked;
  needs.caches.features = {ramp(1024, 1024, 1e-6, 3)};
  needs.caches.learned = {ramp(64 * 1024, 1025, 1e-4, 3000)};  // rounded up
  const MemoryPlan some = plan_memory(needs, 64 * kMiB);
  CHECK(some.learned_cache < needs.learned.most);
  CHECK(some.learned_shares.size() == 1);
  const MemoryPlan all = plan_memory(needs, 256 * kMiB);
  CHECK(all.learned_cache == needs.learned.most);
  CHECK(all.learned_shares.empty());
}

TEST_CASE("what counting uses takes is part of the budget that works") {
  MemoryNeeds needs = run_with_learned_rows();
  const std::uint64_t least = plan_memory(needs, 0).least;
  needs.counted = kMiB;  // less than a step that is tried
  CHECK(plan_memory(needs, 0).least == least);
  needs.counted = 100 * kMiB;
  CHECK(plan_memory(needs, 0).least == 108 * kMiB);
}
