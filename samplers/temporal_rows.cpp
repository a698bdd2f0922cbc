#include "samplers/temporal_rows.h"

#include <algorithm>

namespace sluice {
namespace {

template <class T>
void move_row(std::span<T> column, std::size_t from, std::size_t to, std::size_t count) {
  if (column.empty() || from == to) return;
  std::copy_n(column.data() + from, count, column.data() + to);  // to < from: it may overlap
}

}  // namespace

std::uint64_t pack_rows(const TemporalRows& rows, std::span<std::int64_t> offsets) {
  const std::size_t queries = rows.counts.size();
  const std::size_t width = queries == 0 ? 0 : rows.neighbours.size() / queries;
  std::size_t to = 0;
  offsets[0] = 0;
  for (std::size_t q = 0; q < queries; ++q) {
    const auto count = static_cast<std::size_t>(rows.counts[q]);
    move_row(rows.neighbours, q * width, to, count);
    move_row(rows.edge_ids, q * width, to, count);
    move_row(rows.times, q * width, to, count);
    move_row(rows.deltas, q * width, to, count);
    to += count;
    offsets[q + 1] = static_cast<std::int64_t>(to);
  }
  return to;
}

}  // namespace sluice
