// A table of sparse feature rows with random entries, put together byte by byte as FORMAT.md says.
#pragma once

#include <sluice/dtype.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace sluice::test {

struct SparseTable {
  std::vector<std::byte> bytes;
  std::vector<const std::byte*> rows;  ///< where each begins
  std::size_t row_bytes = 0;

  /// Rows of 0 to `entries` entries; values are finite and any else, -0 too. @pre dtype is a float
  /// @param shift bytes before the first row
  SparseTable(DType dtype,
              std::uint32_t dim,
              std::uint32_t entries,
              std::size_t count,
              std::size_t shift,
              RandomKey key) {
    const std::size_t column_bytes = dim > 65'536 ? 4 : 2, value_bytes = size_of(dtype);
    const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
    row_bytes = 4 + padded(entries * column_bytes) + padded(entries * value_bytes);
    bytes.assign(shift + count * row_bytes, std::byte{0});
    for (std::size_t i = 0; i < count; ++i) {
      const RandomKey one = key.with(i);
      std::set<std::uint32_t> columns;
      const std::uint64_t draws = one.below(std::uint64_t{entries} + 1, 0);
      for (std::uint64_t e = 0; e < draws; ++e)
        columns.insert(static_cast<std::uint32_t>(one.with("column").below(dim, e)));
      std::byte* const row = bytes.data() + shift + i * row_bytes;
      const auto stored = static_cast<std::uint32_t>(columns.size());
      std::memcpy(row, &stored, 4);
      std::byte* column_at = row + 4;
      std::byte* value_at = column_at + padded(stored * column_bytes);
      for (const std::uint32_t column : columns) {
        std::memcpy(column_at, &column, column_bytes);  // little-endian
        // Bits of a small float: the exponent's highest bit is off.
        const std::uint64_t drawn = one.with("value").draw(column);
        const auto wide = static_cast<std::uint32_t>(drawn) & 0xbfffffffu;
        const auto half = static_cast<std::uint16_t>(drawn & 0xbfffu);
        if (value_bytes == 4) {
          std::memcpy(value_at, &wide, 4);
        } else {
          std::memcpy(value_at, &half, 2);
        }
        column_at += column_bytes;
        value_at += value_bytes;
      }
      rows.push_back(row);
    }
  }
};

}  // namespace sluice::test
