// What a stored sparse feature row must be; FORMAT.md says how it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// What keeps a stored row from being one: more entries than there is room for, or columns that do
/// not ascend or are not there. Null where it is sound.
/// @param row sparse_row_bytes() bytes, at any address
const char* sparse_row_problem(std::uint32_t dim,
                               std::uint32_t entries,
                               std::span<const std::byte> row);

}  // namespace sluice
