// Borrowed views that kernels work on: matrices by rows, and lists of rows.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sluice::kernels {

/// A row-major matrix without padding.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;

  constexpr T* row(std::int64_t index) const { return data + index * width; }
  /// To a matrix of constants.
  template <class U, class = std::enable_if_t<!std::is_const_v<T> && std::is_same_v<U, const T>>>
  constexpr operator Rows<U>() const {
    return {data, count, width};
  }
};

/// One list of input rows for each output row: a block's CSC (targets list their sources) or its
/// transpose (sources list their targets).
struct RowLists {
  const std::int64_t* offsets = nullptr;  ///< [count + 1]
  const std::int32_t* items = nullptr;    ///< [offsets[count]]: input rows
  std::int64_t count = 0;
  /// [offsets[count]]: which row of a per-edge matrix goes with an item; null: its own position.
  const std::int32_t* edges = nullptr;

  /// @pre the host may read `offsets`
  std::int64_t num_items() const { return count == 0 ? 0 : offsets[count]; }
  constexpr std::int64_t edge(std::int64_t position) const {
    return edges == nullptr ? position : edges[position];
  }
};

}  // namespace sluice::kernels
