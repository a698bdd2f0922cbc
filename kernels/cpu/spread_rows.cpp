#include "kernels/spread_rows.h"

#include "core/half.h"
#include "kernels/cpu/parallel.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <cstring>

namespace sluice::kernels {
namespace {

// Rows lie anywhere: the beginnings of so many ahead are fetched.
constexpr std::int64_t kSpreadAhead = 8;
constexpr std::int64_t kSpreadFetched = 256;  // bytes of each
constexpr std::int64_t kSpreadLine = 64;

struct SpreadF32 {
  using Bits = float;
  static float value(float bits) { return bits; }
};
struct SpreadF16 {
  using Bits = std::uint16_t;
  static float value(std::uint16_t bits) { return widen_f16(bits); }
};
struct SpreadBF16 {
  using Bits = std::uint16_t;
  static float value(std::uint16_t bits) { return widen_bf16(bits); }
};

template <class T>
T load_nth(const std::byte* list, std::uint32_t i) {
  T value;
  std::memcpy(&value, list + std::size_t{i} * sizeof(T), sizeof value);
  return value;
}

template <class Column, class Stored>
void spread_row(const std::byte* row,
                std::uint32_t entries,
                float* __restrict out,
                std::int64_t width) {
  std::fill_n(out, width, 0.0f);
  const std::uint32_t count = std::min(load_nth<std::uint32_t>(row, 0), entries);
  const std::byte* const columns = row + sizeof(std::uint32_t);
  const std::byte* const values = columns + (std::size_t{count} * sizeof(Column) + 3) / 4 * 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t column = load_nth<Column>(columns, i);
    if (column < width) out[column] = Stored::value(load_nth<typename Stored::Bits>(values, i));
  }
}

using SpreadRow = void (*)(const std::byte*, std::uint32_t, float* __restrict, std::int64_t);

template <class Column>
SpreadRow choose_spread(DType dtype) {
  if (dtype == DType::kF16) return spread_row<Column, SpreadF16>;
  if (dtype == DType::kBF16) return spread_row<Column, SpreadBF16>;
  return spread_row<Column, SpreadF32>;
}

}  // namespace

void spread_rows(const Executor& executor,
                 DType dtype,
                 std::uint32_t entries,
                 const std::byte* const* rows,
                 Rows<float> out) {
  const auto dim = static_cast<std::uint32_t>(out.width);
  const SpreadRow spread = sparse_index_bytes(dim) == 2 ? choose_spread<std::uint16_t>(dtype)
                                                        : choose_spread<std::uint32_t>(dtype);
  const std::int64_t fetched =
      std::min(kSpreadFetched, static_cast<std::int64_t>(sparse_row_bytes(dtype, dim, entries)));
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kSpreadAhead < end) {
        for (std::int64_t byte = 0; byte < fetched; byte += kSpreadLine)
          __builtin_prefetch(rows[i + kSpreadAhead] + byte);
      }
      spread(rows[i], entries, out.row(i), out.width);
    }
  };
  cpu::for_rows(executor, out.count, out.count * out.width, work);
}

}  // namespace sluice::kernels
