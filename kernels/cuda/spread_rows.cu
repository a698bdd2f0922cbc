// A warp a row: its zeros, then its entries, each by one lane. Rows may lie in pinned host memory,
// at any address.
#include "core/half.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

#include <sluice/graph_schema.h>

namespace sluice::kernels::cuda {
namespace {

struct SparseF32 {
  using Bits = std::uint32_t;
  __device__ static float value(std::uint32_t bits) { return __uint_as_float(bits); }
};

template <float (*Widen)(std::uint16_t)>
struct SparseHalf {
  using Bits = std::uint16_t;
  __device__ static float value(std::uint16_t bits) { return Widen(bits); }
};

// Element i of a list; byte by byte where it is not at a multiple of its size.
template <class T>
__device__ T load_nth(const std::byte* list, std::uint32_t i) {
  const std::byte* const at = list + static_cast<std::size_t>(i) * sizeof(T);
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0) return *reinterpret_cast<const T*>(at);
  std::uint32_t bits = 0;
  for (std::size_t byte = 0; byte < sizeof(T); ++byte)
    bits |= static_cast<std::uint32_t>(at[byte]) << (8 * byte);
  return static_cast<T>(bits);
}

template <class Column, class Stored>
__global__ void spread(std::int64_t count,
                       std::uint32_t entries,
                       const std::byte* const* rows,
                       Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::byte* const row = rows[i];
  float* const to = out.row(i);
  for (std::int64_t c = lane(); c < out.width; c += kLanes) to[c] = 0.0f;
  __syncwarp();  // no zero comes after an entry
  std::uint32_t stored = load_nth<std::uint32_t>(row, 0);
  if (stored > entries) stored = entries;
  const std::byte* const columns = row + sizeof(std::uint32_t);
  const std::byte* const values =
      columns + (static_cast<std::size_t>(stored) * sizeof(Column) + 3) / 4 * 4;
  for (std::uint32_t e = static_cast<std::uint32_t>(lane()); e < stored; e += kLanes) {
    const std::int64_t column = load_nth<Column>(columns, e);
    if (column < out.width) to[column] = Stored::value(load_nth<typename Stored::Bits>(values, e));
  }
}

using Spread = void (*)(std::int64_t, std::uint32_t, const std::byte* const*, Rows<float>);

template <class Column>
Spread choose_spread(DType dtype) {
  if (dtype == DType::kF16) return &spread<Column, SparseHalf<&widen_f16>>;
  if (dtype == DType::kBF16) return &spread<Column, SparseHalf<&widen_bf16>>;
  return &spread<Column, SparseF32>;
}

}  // namespace

void spread_rows(const Executor& executor,
                 DType dtype,
                 std::uint32_t entries,
                 const std::byte* const* rows,
                 Rows<float> out) {
  const bool narrow = sparse_index_bytes(static_cast<std::uint32_t>(out.width)) == 2;
  const Spread kernel =
      narrow ? choose_spread<std::uint16_t>(dtype) : choose_spread<std::uint32_t>(dtype);
  launch_rows("spread_rows", executor, out.count, kernel, entries, rows, out);
}

}  // namespace sluice::kernels::cuda
