// Widened rows: stored rows of a table as the f32 that mini-batches carry, many threads at once.
// The same bits whether they are gathered ahead or when somebody asks.
#pragma once

#include "kernels/float_rows.h"

#include <sluice/graph_schema.h>
#include <sluice/threads.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// What becomes of a row: it stays, or is divided by the sum of its absolute values.
enum class RowScale { kAsStored, kByAbsoluteSum };

inline void divide_by_absolute_sum(std::span<float> row) {
  double sum = 0;
  for (const float value : row) sum += std::abs(static_cast<double>(value));
  if (sum == 0) return;
  for (float& value : row) value = static_cast<float>(static_cast<double>(value) / sum);
}

/// Calls see(i, where the i-th and next of `count` rows are), on the arena's threads.
/// @param row_at (i): where a row is
template <class RowAt, class See>
void for_stored_rows(ThreadArena& arena, std::size_t count, const RowAt& row_at, const See& see) {
  constexpr std::size_t kGrain = 256;  // rows a task
  arena.for_ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<const std::byte*, kGrain> rows;
    for (std::size_t i = begin; i < end; ++i) rows[i - begin] = row_at(i);
    see(begin, std::span<const std::byte* const>(rows.data(), end - begin));
  });
}

/// @param out f32 [rows, table.dim]
inline void widen_stored_rows(const FeatureSchema& table,
                              RowScale scale,
                              std::span<const std::byte* const> rows,
                              std::span<float> out) {
  const auto count = static_cast<std::int64_t>(rows.size());
  kernels::float_rows({}, table, rows.data(), {out.data(), count, table.dim});
  if (scale == RowScale::kAsStored) return;
  const auto dim = static_cast<std::size_t>(table.dim);
  for (std::size_t i = 0; i < rows.size(); ++i) divide_by_absolute_sum(out.subspan(i * dim, dim));
}

}  // namespace sluice
