#include "storage/feature/cache_shares.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice {
namespace {

/// What each has in any case, and the bytes that are left. @pre they fit
struct LeastShares {
  std::vector<std::uint64_t> rows;
  std::uint64_t bytes_left;
};

LeastShares least_shares(std::span<const CachedTable> tables, std::uint64_t bytes) {
  LeastShares least{{}, bytes};
  for (const CachedTable& table : tables) {
    least.rows.push_back(std::min(table.least_rows, table.rows()));
    least.bytes_left -= std::min(least.bytes_left, least.rows.back() * table.row_bytes);
  }
  return least;
}

/// Rows of one table that are used equally often.
struct EqualRows {
  std::size_t table;
  std::uint64_t rows;
  double saved;  // seconds a byte
};

/// Those beyond the `taken` rows of each table, best first.
std::vector<EqualRows> best_first(std::span<const CachedTable> tables,
                                  const std::vector<std::uint64_t>& taken) {
  std::vector<EqualRows> all;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::uint64_t passed = taken[t];
    for (const auto& [uses, rows] : tables[t].uses) {
      const std::uint64_t gone = std::min(passed, rows);
      passed -= gone;
      const double saved = uses * tables[t].miss_seconds / static_cast<double>(tables[t].row_bytes);
      if (rows > gone) all.push_back({t, rows - gone, saved});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const EqualRows& a, const EqualRows& b) {
    return a.saved > b.saved;
  });
  return all;
}

std::vector<std::uint64_t> greedy_rows(std::span<const CachedTable> tables, std::uint64_t bytes) {
  LeastShares shares = least_shares(tables, bytes);
  // Of one table they come in the order of their uses, so that its cached rows are its first.
  std::vector<bool> full(tables.size(), false);
  for (const EqualRows& equal : best_first(tables, shares.rows)) {
    if (full[equal.table]) continue;
    const std::uint64_t row_bytes = tables[equal.table].row_bytes;
    const std::uint64_t rows = std::min(equal.rows, shares.bytes_left / row_bytes);
    shares.rows[equal.table] += rows;
    shares.bytes_left -= rows * row_bytes;
    full[equal.table] = rows < equal.rows;
  }
  return shares.rows;
}

/// What a table's misses beyond its cached rows cost.
double miss_seconds_of(const CachedTable& table, std::uint64_t cached) {
  double sum = 0;
  for (const auto& [uses, rows] : table.uses) {
    const std::uint64_t hit = std::min(cached, rows);
    cached -= hit;
    sum += static_cast<double>(rows - hit) * uses * table.miss_seconds;
  }
  return sum;
}

}  // namespace

RowsByUses rows_by_uses(std::span<const std::uint32_t> uses) {
  RowsByUses counts;
  for (const std::uint32_t count : uses) ++counts[count];
  return counts;
}

std::uint64_t CachedTable::rows() const {
  std::uint64_t sum = 0;
  for (const auto& [times, rows] : uses) sum += rows;
  return sum;
}

double miss_seconds(std::span<const CachedTable> tables, std::span<const std::uint64_t> cached) {
  double sum = 0;
  for (std::size_t t = 0; t < tables.size(); ++t) sum += miss_seconds_of(tables[t], cached[t]);
  return sum;
}

std::vector<std::uint64_t> ranked_rows(std::span<const CachedTable> tables, std::uint64_t bytes) {
  std::vector<std::uint64_t> best = greedy_rows(tables, bytes);
  double least = miss_seconds(tables, best);
  const auto consider = [&](std::vector<std::uint64_t> rows) {
    const double seconds = miss_seconds(tables, rows);
    if (seconds >= least) return;
    least = seconds;
    best = std::move(rows);
  };
  consider(proportional_rows(tables, bytes));
  for (std::size_t t = 0; t < tables.size(); ++t) consider(single_table_rows(tables, t, bytes));
  return best;
}

std::vector<std::uint64_t> proportional_rows(std::span<const CachedTable> tables,
                                             std::uint64_t bytes) {
  LeastShares shares = least_shares(tables, bytes);
  // Tables that all rows of fit leave the rest to the others, until none is of that kind.
  std::vector<bool> open(tables.size(), true);
  const auto weight_of_open = [&] {
    double weight = 0;
    for (std::size_t t = 0; t < tables.size(); ++t)
      if (open[t]) weight += miss_seconds_of(tables[t], 0);
    return weight;
  };
  double weight = weight_of_open();
  while (weight > 0) {
    const auto room = static_cast<double>(shares.bytes_left);
    std::vector<std::uint64_t> more(tables.size(), 0);
    bool again = false;
    for (std::size_t t = 0; t < tables.size() && !again; ++t) {
      if (!open[t]) continue;
      const double own = room * miss_seconds_of(tables[t], 0) / weight;
      const std::uint64_t left = tables[t].rows() - shares.rows[t];
      more[t] = std::min(left, static_cast<std::uint64_t>(own) / tables[t].row_bytes);
      if (more[t] < left) continue;
      // It is done; the others are shared out anew.
      shares.rows[t] += more[t];
      shares.bytes_left -= std::min(shares.bytes_left, more[t] * tables[t].row_bytes);
      open[t] = false;
      again = true;
    }
    if (again) {
      weight = weight_of_open();
      continue;
    }
    for (std::size_t t = 0; t < tables.size(); ++t) shares.rows[t] += more[t];
    return shares.rows;
  }
  // Those that are left are never used, as far as uses were counted: what is over is theirs.
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::uint64_t more =
        std::min(tables[t].rows() - shares.rows[t], shares.bytes_left / tables[t].row_bytes);
    shares.rows[t] += more;
    shares.bytes_left -= more * tables[t].row_bytes;
  }
  return shares.rows;
}

std::vector<std::uint64_t> single_table_rows(std::span<const CachedTable> tables,
                                             std::size_t table,
                                             std::uint64_t bytes) {
  LeastShares shares = least_shares(tables, bytes);
  shares.rows[table] += std::min(tables[table].rows() - shares.rows[table],
                                 shares.bytes_left / tables[table].row_bytes);
  return shares.rows;
}

}  // namespace sluice
