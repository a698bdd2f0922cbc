// A warp a row; four elements a lane at a time where the row's address allows it, else one, and
// byte by byte only where not even that is whole. Rows may lie in pinned host memory: then this is
// also their copy to the GPU, and a warp's loads should be few and wide.
#include "core/half.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

__device__ std::uint32_t load_bytes(const std::byte* from, int bytes) {
  std::uint32_t bits = 0;
  for (int i = 0; i < bytes; ++i) bits |= static_cast<std::uint32_t>(from[i]) << (8 * i);
  return bits;
}

// How elements are stored: the bytes of one, one and four of them as a word, and what they mean.
struct StoredF32 {
  using One = std::uint32_t;
  using Four = uint4;
  static constexpr int kBytes = 4;
  static constexpr int kHeader = 0;
  __device__ static float value(std::uint32_t bits, float) { return __uint_as_float(bits); }
  __device__ static float4 values(const Four& four, float) {
    return {__uint_as_float(four.x),
            __uint_as_float(four.y),
            __uint_as_float(four.z),
            __uint_as_float(four.w)};
  }
};

template <float (*Widen)(std::uint16_t)>
struct StoredHalf {
  using One = std::uint16_t;
  using Four = uint2;
  static constexpr int kBytes = 2;
  static constexpr int kHeader = 0;
  __device__ static float value(std::uint32_t bits, float) {
    return Widen(static_cast<std::uint16_t>(bits));
  }
  __device__ static float4 values(const Four& four, float) {
    return {value(four.x & 0xffffu, 0),
            value(four.x >> 16, 0),
            value(four.y & 0xffffu, 0),
            value(four.y >> 16, 0)};
  }
};

// After the scale, an f32.
struct StoredI8 {
  using One = std::uint8_t;
  using Four = std::uint32_t;
  static constexpr int kBytes = 1;
  static constexpr int kHeader = 4;
  __device__ static float value(std::uint32_t bits, float scale) {
    return scale * static_cast<float>(static_cast<std::int8_t>(bits));
  }
  __device__ static float4 values(const Four& four, float scale) {
    return {value(four & 0xffu, scale),
            value(four >> 8 & 0xffu, scale),
            value(four >> 16 & 0xffu, scale),
            value(four >> 24, scale)};
  }
};

template <class T>
__device__ bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(T) == 0;
}

template <class Stored>
__global__ void widen(std::int64_t count, const std::byte* const* rows, Rows<float> out) {
  const std::int64_t i = warp_row();
  if (i >= count) return;
  const std::byte* const row = rows[i];
  const std::byte* const elements = row + Stored::kHeader;
  const float scale = Stored::kHeader == 0 ? 0.0f : __uint_as_float(load_bytes(row, 4));
  float* const to = out.row(i);
  std::int64_t done = 0;
  if (aligned<typename Stored::Four>(elements) && aligned<float4>(to)) {
    done = out.width / 4 * 4;
    const auto* fours = reinterpret_cast<const typename Stored::Four*>(elements);
    auto* to_fours = reinterpret_cast<float4*>(to);
    for (std::int64_t c = lane(); c < done / 4; c += kLanes)
      to_fours[c] = Stored::values(fours[c], scale);
  }
  if (aligned<typename Stored::One>(elements)) {
    const auto* ones = reinterpret_cast<const typename Stored::One*>(elements);
    for (std::int64_t c = done + lane(); c < out.width; c += kLanes)
      to[c] = Stored::value(ones[c], scale);
    return;
  }
  for (std::int64_t c = done + lane(); c < out.width; c += kLanes)
    to[c] = Stored::value(load_bytes(elements + c * Stored::kBytes, Stored::kBytes), scale);
}

}  // namespace

void widen_rows(const Executor& executor,
                DType dtype,
                const std::byte* const* rows,
                Rows<float> out) {
  void (*kernel)(std::int64_t, const std::byte* const*, Rows<float>) = &widen<StoredF32>;
  if (dtype == DType::kF16) kernel = &widen<StoredHalf<&widen_f16>>;
  if (dtype == DType::kBF16) kernel = &widen<StoredHalf<&widen_bf16>>;
  if (dtype == DType::kI8) kernel = &widen<StoredI8>;
  launch_rows("widen_rows", executor, out.count, kernel, rows, out);
}

}  // namespace sluice::kernels::cuda
