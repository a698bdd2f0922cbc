#include "storage/format/sparse_row.h"

#include <sluice/graph_schema.h>

#include <cstring>

namespace sluice {

const char* sparse_row_problem(std::uint32_t dim,
                               std::uint32_t entries,
                               std::span<const std::byte> row) {
  const std::size_t column_bytes = sparse_index_bytes(dim);
  std::uint32_t count = 0;
  std::memcpy(&count, row.data(), sizeof count);
  if (count > entries) return "has more entries than there is room for";
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t column = 0;  // little-endian: its low bytes come first
    std::memcpy(&column, row.data() + sizeof count + i * column_bytes, column_bytes);
    if (column >= dim) return "has an entry in a column that is not there";
    if (i != 0 && column <= before) return "has columns that do not ascend";
    before = column;
  }
  return nullptr;
}

}  // namespace sluice
