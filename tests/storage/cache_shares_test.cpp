// One budget over the caches of several tables: the rule by uses, cost and size beside the
// published proportional one and a single table's, on random traces that are replayed access by
// access.
#include "storage/feature/cache_shares.h"
#include "storage/embedding/row_layout.h"
#include "storage/embedding/table_rows.h"
#include "storage/io/disk_profile.h"

#include <doctest/doctest.h>
#include <sluice/random.h>
#include <sluice/registry.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace sluice;

namespace {

/// Accesses to rows of some tables, a few of which have most.
struct RandomTrace {
  struct Access {
    std::size_t table;
    std::size_t row;
  };
  std::vector<CachedTable> tables;
  std::vector<std::vector<std::uint32_t>> uses;  // by table and row
  std::vector<Access> accesses;

  RandomTrace(RandomKey key, std::uint64_t most_rows, std::uint64_t length) {
    const std::size_t count = 1 + key.with("tables").below(5, 0);
    for (std::size_t t = 0; t < count; ++t) {
      const RandomKey own = key.with("table").with(t);
      uses.emplace_back(1 + own.below(most_rows, 0), 0u);
      CachedTable table;
      table.row_bytes = 1 + own.below(4'096, 1);
      table.miss_seconds = 1e-6 * static_cast<double>(1 + own.below(500, 2));
      tables.push_back(table);
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      const RandomKey one = key.with("access").with(i);
      const std::size_t table = one.below(count, 0);
      const double skewed = one.uniform(1) * one.uniform(2) * one.uniform(3);
      const std::size_t rows = uses[table].size();
      const auto row =
          std::min(static_cast<std::size_t>(skewed * static_cast<double>(rows)), rows - 1);
      ++uses[table][row];
      accesses.push_back({table, row});
    }
    for (std::size_t t = 0; t < count; ++t) tables[t].uses = rows_by_uses(uses[t]);
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const CachedTable& table : tables) sum += table.rows() * table.row_bytes;
    return sum;
  }

  static std::uint64_t bytes_of(const std::vector<CachedTable>& tables,
                                const std::vector<std::uint64_t>& cached) {
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < tables.size(); ++t) sum += cached[t] * tables[t].row_bytes;
    return sum;
  }

  /// Replays the accesses over caches of the most used rows.
  double replay(const std::vector<std::uint64_t>& cached) const {
    std::vector<std::vector<bool>> here;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      std::vector<std::size_t> order(uses[t].size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return uses[t][a] > uses[t][b];
      });
      here.emplace_back(uses[t].size(), false);
      for (std::uint64_t i = 0; i < cached[t]; ++i) here[t][order[i]] = true;
    }
    double seconds = 0;
    for (const Access& access : accesses)
      if (!here[access.table][access.row]) seconds += tables[access.table].miss_seconds;
    return seconds;
  }
};

std::uint64_t trace_seed() {
  const char* const text = std::getenv("SLUICE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

/// Of every number of cached rows of every table within the budget, the least that is missed: a
/// table's cached rows are its most used ones.
double least_missed(const std::vector<CachedTable>& tables, std::uint64_t budget) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::uint64_t> cached(tables.size(), 0);
  for (bool more = true; more;) {
    if (RandomTrace::bytes_of(tables, cached) <= budget)
      best = std::min(best, miss_seconds(tables, cached));
    more = false;
    for (std::size_t t = 0; t < cached.size() && !more; ++t) {
      more = cached[t] < tables[t].rows();
      cached[t] = more ? cached[t] + 1 : 0;
    }
  }
  return best;
}

/// All misses of the most used row.
double dearest_row(const std::vector<CachedTable>& tables) {
  double dearest = 0;
  for (const CachedTable& table : tables)
    dearest = std::max(dearest, table.uses.begin()->first * table.miss_seconds);
  return dearest;
}

/// A disk that reads 4 KiB in 100 us, and writes half as fast as it reads.
DiskProfile slow_writing_disk() {
  DiskRates rates;
  for (std::size_t i = 0; i < rates.read_seconds.size(); ++i)
    rates.read_seconds[i] = 1e-4 * DiskRates::kRequestBytes[i] / DiskRates::kRequestBytes[0];
  rates.sequential_read = 1e9;
  rates.sequential_write = 5e8;
  return DiskProfile(rates);
}

TableRows learned_table(std::uint32_t dim) {
  TableRowsOptions options;
  options.rows = 100;
  options.dim = dim;
  options.optimizer = builtin_sparse_optimizers().make("adagrad", "");
  options.placement = Placement::kDisk;
  return TableRows(options);
}

/// Sums of the same numbers in another order.
bool no_more(double a, double b) {
  return a <= b * (1 + 1e-9) + 1e-12;
}

}  // namespace

TEST_CASE("cache shares: on 50 random traces the ranked rule misses least") {
  const std::uint64_t seed = trace_seed();
  MESSAGE("seed ", seed);
  for (std::uint64_t i = 0; i < 50; ++i) {
    CAPTURE(i);
    const RandomKey key = RandomKey(seed).with(i);
    RandomTrace trace(key, 2'000, 20'000);
    const std::uint64_t percent = 1 + key.with("budget").below(90, 0);
    const std::uint64_t budget = trace.bytes() * percent / 100;
    const bool floors = i % 2 == 1;
    for (std::size_t t = 0; floors && t < trace.tables.size(); ++t)
      trace.tables[t].least_rows = trace.tables[t].rows() * percent / 200;
    const auto ranked = ranked_rows(trace.tables, budget);
    const double seconds = trace.replay(ranked);
    CHECK(seconds == doctest::Approx(miss_seconds(trace.tables, ranked)).epsilon(1e-9));
    std::vector<std::vector<std::uint64_t>> others{proportional_rows(trace.tables, budget)};
    for (std::size_t t = 0; t < trace.tables.size(); ++t)
      others.push_back(single_table_rows(trace.tables, t, budget));
    for (const auto& other : others) CHECK(no_more(seconds, trace.replay(other)));
    others.push_back(ranked);
    for (const auto& shares : others) {
      CHECK(RandomTrace::bytes_of(trace.tables, shares) <= budget);
      for (std::size_t t = 0; t < trace.tables.size(); ++t) {
        CHECK(shares[t] <= trace.tables[t].rows());
        CHECK(shares[t] >= trace.tables[t].least_rows);
      }
    }
  }
}

TEST_CASE("cache shares: no choice of rows is better by more than one row") {
  const std::uint64_t seed = trace_seed();
  MESSAGE("seed ", seed);
  for (std::uint64_t i = 0; i < 40; ++i) {
    CAPTURE(i);
    const RandomKey key = RandomKey(seed).with("small").with(i);
    const RandomTrace trace(key, 5, 200);
    const std::uint64_t budget = trace.bytes() * (1 + key.with("budget").below(99, 0)) / 100;
    const double best = least_missed(trace.tables, budget);
    const double dearest = dearest_row(trace.tables);
    const double ranked = miss_seconds(trace.tables, ranked_rows(trace.tables, budget));
    CHECK(no_more(best, ranked));
    CHECK(no_more(ranked, best + dearest));
  }
}

TEST_CASE("cache shares: learned rows with what their optimizer keeps, among rows of features") {
  const std::uint64_t seed = trace_seed();
  MESSAGE("seed ", seed);
  const DiskProfile disk = slow_writing_disk();
  const double page = disk.seconds_for(4096);
  // Of 16 values and as many squares, 32 rows to a page. A row that comes is a read; the one that
  // gives way is a read of the rows beside it and a write, which takes twice as long.
  const TableRows narrow = learned_table(16);
  CHECK(narrow.miss_seconds(disk, TableAccess::kWrite) == doctest::Approx(4 * page));
  CHECK(narrow.miss_seconds(disk, TableAccess::kRead) == doctest::Approx(page));
  // One that fills its page is not read for that.
  CHECK(learned_table(512).miss_seconds(disk, TableAccess::kWrite) == doctest::Approx(3 * page));
  const RowLayout layout = RowLayout::make(100, 16, 16);
  CHECK(layout.row_bytes() == 128);
  for (std::uint64_t i = 0; i < 40; ++i) {
    CAPTURE(i);
    const RandomKey key = RandomKey(seed).with("learned").with(i);
    RandomTrace trace(key, 5, 200);
    trace.tables.front().row_bytes = layout.row_bytes();
    trace.tables.front().miss_seconds = narrow.miss_seconds(disk, TableAccess::kWrite);
    const std::uint64_t budget = trace.bytes() * (1 + key.with("budget").below(99, 0)) / 100;
    const auto rows = ranked_rows(trace.tables, budget);
    const double ranked = trace.replay(rows);
    CHECK(RandomTrace::bytes_of(trace.tables, rows) <= budget);
    const double best = least_missed(trace.tables, budget);
    CHECK(no_more(best, ranked));
    CHECK(no_more(ranked, best + dearest_row(trace.tables)));
  }
}

TEST_CASE("cache shares: by uses, cost and size, as one would by hand") {
  // Rows of 10 bytes used 8 and 2 times, and of 40 bytes used 20 and 4 times; a miss costs the
  // same.
  CachedTable narrow, wide;
  narrow.uses = rows_by_uses(std::vector<std::uint32_t>{2, 8});
  narrow.row_bytes = 10;
  narrow.miss_seconds = 1;
  wide.uses = rows_by_uses(std::vector<std::uint32_t>{20, 4});
  wide.row_bytes = 40;
  wide.miss_seconds = 1;
  const std::vector<CachedTable> tables{narrow, wide};  // 0.8, 0.5, 0.2, 0.1 uses a byte
  CHECK(ranked_rows(tables, 0) == std::vector<std::uint64_t>{0, 0});
  CHECK(ranked_rows(tables, 10) == std::vector<std::uint64_t>{1, 0});
  CHECK(ranked_rows(tables, 50) == std::vector<std::uint64_t>{1, 1});
  CHECK(ranked_rows(tables, 60) == std::vector<std::uint64_t>{2, 1});
  CHECK(ranked_rows(tables, 100) == std::vector<std::uint64_t>{2, 2});
  // 40 bytes: both narrow rows save 10, the wide one saves 20.
  CHECK(ranked_rows(tables, 40) == std::vector<std::uint64_t>{0, 1});
  CHECK(miss_seconds(tables, std::vector<std::uint64_t>{1, 1}) == 6);
  // 34 misses without a cache, 10 of them narrow: 68 bytes are 20 and 48.
  CHECK(proportional_rows(tables, 68) == std::vector<std::uint64_t>{2, 1});
  CHECK(proportional_rows(tables, 34) == std::vector<std::uint64_t>{1, 0});
  CHECK(single_table_rows(tables, 1, 100) == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("cache shares: what is over goes to rows that are never counted, as those of seeds are") {
  CachedTable used, idle;
  used.uses = rows_by_uses(std::vector<std::uint32_t>{2, 8});
  used.row_bytes = 10;
  used.miss_seconds = 1;
  idle.uses = rows_by_uses(std::vector<std::uint32_t>{0, 0, 0});
  idle.row_bytes = 10;
  idle.miss_seconds = 1;
  for (const auto& rule : {ranked_rows, proportional_rows}) {
    const std::vector<CachedTable> tables{used, idle}, turned{idle, used};
    CHECK(rule(tables, 100) == std::vector<std::uint64_t>{2, 3});
    CHECK(rule(turned, 100) == std::vector<std::uint64_t>{3, 2});
    CHECK(rule(tables, 35) == std::vector<std::uint64_t>{2, 1});
    CHECK(rule(tables, 15) == std::vector<std::uint64_t>{1, 0});
    CHECK(rule(std::vector<CachedTable>{idle}, 25) == std::vector<std::uint64_t>{2});
  }
}
