#include "budget/shared_caches.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

std::uint64_t least_rows_of(const CachedTable& table) {
  return std::min(table.least_rows, table.rows());
}

}  // namespace

std::vector<std::uint64_t> learned_shares(const SharedCaches& caches, std::uint64_t bytes) {
  std::vector<CachedTable> tables = caches.learned;
  tables.insert(tables.end(), caches.features.begin(), caches.features.end());
  for (const CachedTable& table : tables) bytes += least_rows_of(table) * table.row_bytes;
  const std::vector<std::uint64_t> rows = caches.share == CacheShare::kRanked
                                              ? ranked_rows(tables, bytes)
                                              : proportional_rows(tables, bytes);
  std::vector<std::uint64_t> shares;
  shares.reserve(caches.learned.size());
  for (std::size_t t = 0; t < caches.learned.size(); ++t)
    shares.push_back((rows[t] - least_rows_of(tables[t])) * tables[t].row_bytes);
  return shares;
}

std::vector<std::uint64_t> shares_among_learned(const SharedCaches& caches, std::uint64_t bytes) {
  return learned_shares({caches.share, {}, caches.learned}, bytes);
}

}  // namespace sluice
