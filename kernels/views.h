// Borrowed views that kernels work on: matrices by rows, and lists of rows.
#pragma once

#include "core/half.h"

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

/// A float's upper half: what matrix products of bf16 give, and what widens to f32 exactly.
struct BFloat16 {
  std::uint16_t bits;
};

constexpr float widen(float value) {
  return value;
}
constexpr float widen(BFloat16 value) {
  return widen_bf16(value.bits);
}

/// Rows of floats or of BFloat16, which a kernel widens as it reads them: the bits of what it gives
/// are those for rows that were widened before.
class FloatRows {
 public:
  constexpr FloatRows(const Rows<const float>& rows)
      : FloatRows(rows.data, nullptr, rows.count, rows.width) {}
  constexpr FloatRows(const Rows<float>& rows)
      : FloatRows(rows.data, nullptr, rows.count, rows.width) {}
  constexpr FloatRows(const Rows<const BFloat16>& rows)
      : FloatRows(nullptr, rows.data, rows.count, rows.width) {}
  constexpr FloatRows(const Rows<BFloat16>& rows)
      : FloatRows(nullptr, rows.data, rows.count, rows.width) {}

  /// Calls body with Rows<const float> or Rows<const BFloat16>.
  template <class Body>
  void visit(const Body& body) const {
    if (halves_ != nullptr) {
      body(Rows<const BFloat16>{halves_, count_, width_});
    } else {
      body(Rows<const float>{floats_, count_, width_});
    }
  }

 private:
  constexpr FloatRows(const float* floats,
                      const BFloat16* halves,
                      std::int64_t count,
                      std::int64_t width)
      : floats_(floats), halves_(halves), count_(count), width_(width) {}

  const float* floats_;
  const BFloat16* halves_;
  std::int64_t count_, width_;
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
