#include "prep/features/sparse_rows.h"

#include "prep/features/elements.h"
#include "prep/features/load_element.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr std::size_t kCountBytes = sizeof(std::uint32_t);

std::size_t padded_to_4(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

/// Calls visit with an integer as wide as a float of `dtype`.
template <class Visit>
auto with_bits_of(DType dtype, const Visit& visit) {
  return size_of(dtype) == 2 ? visit(std::uint16_t{}) : visit(std::uint32_t{});
}

template <class Bits>
std::uint32_t entries_of_row(const std::byte* row, std::uint32_t dim) {
  std::uint32_t count = 0;
  for (std::uint32_t c = 0; c < dim; ++c) count += load_element<Bits>(row, c) != 0 ? 1u : 0u;
  return count;
}

/// @pre the row has `count` entries, and out has room for them and is zeros
template <class Bits, class Column>
void store_entries(const std::byte* row, std::uint32_t dim, std::uint32_t count, std::byte* out) {
  std::memcpy(out, &count, sizeof count);
  std::byte* columns = out + kCountBytes;
  std::byte* values = columns + padded_to_4(count * sizeof(Column));
  for (std::uint32_t c = 0; c < dim; ++c) {
    const Bits bits = load_element<Bits>(row, c);
    if (bits == 0) continue;
    const auto column = static_cast<Column>(c);
    std::memcpy(columns, &column, sizeof column);
    std::memcpy(values, &bits, sizeof bits);
    columns += sizeof column;
    values += sizeof bits;
  }
}

std::uint32_t column_at(std::span<const std::byte> row, std::uint32_t dim, std::uint32_t entry) {
  const std::byte* const columns = row.data() + kCountBytes;
  return sparse_index_bytes(dim) == 2 ? load_element<std::uint16_t>(columns, entry)
                                      : load_element<std::uint32_t>(columns, entry);
}

}  // namespace

std::uint32_t most_entries(DType dtype, std::uint32_t dim, std::span<const std::byte> dense) {
  return with_bits_of(dtype, [&]<class Bits>(Bits /*tag*/) {
    const std::size_t row_bytes = dim * sizeof(Bits);
    std::uint32_t most = 0;
    for (std::size_t at = 0; at < dense.size(); at += row_bytes)
      most = std::max(most, entries_of_row<Bits>(dense.data() + at, dim));
    return most;
  });
}

std::size_t store_sparse_rows(DType dtype,
                              std::uint32_t dim,
                              std::uint32_t entries,
                              std::span<const std::byte> dense,
                              std::span<std::byte> out) {
  const std::size_t to_bytes = sparse_row_bytes(dtype, dim, entries);
  const bool narrow = sparse_index_bytes(dim) == 2;
  return with_bits_of(dtype, [&]<class Bits>(Bits /*tag*/) {
    const std::size_t from_bytes = dim * sizeof(Bits), rows = dense.size() / from_bytes;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::byte* const from = dense.data() + row * from_bytes;
      std::byte* const to = out.data() + row * to_bytes;
      const std::uint32_t count = entries_of_row<Bits>(from, dim);
      if (count > entries) return row;
      std::memset(to, 0, to_bytes);
      if (narrow) {
        store_entries<Bits, std::uint16_t>(from, dim, count, to);
      } else {
        store_entries<Bits, std::uint32_t>(from, dim, count, to);
      }
    }
    return rows;
  });
}

void read_sparse_row(const FeatureSchema& table,
                     std::span<const std::byte> row,
                     std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  const std::uint32_t count = std::min(load_element<std::uint32_t>(row.data(), 0), table.entries);
  const std::span<const std::byte> values =
      row.subspan(kCountBytes + padded_to_4(count * sparse_index_bytes(table.dim)));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t column = column_at(row, table.dim, i);
    if (column < table.dim) out[column] = element_as_double(table.dtype, values, i);
  }
}

}  // namespace sluice
