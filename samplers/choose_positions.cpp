#include <sluice/samplers/choose_positions.h>

#include "core/cpu_isa.h"

#include <algorithm>
#include <array>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {
namespace {

constexpr std::uint64_t kMaxLaneDegree = std::uint64_t{1} << 31;

bool draw_lanes_portable(std::uint64_t begin,
                         std::uint64_t degree,
                         RandomKey key,
                         std::span<std::uint64_t> out) {
  const std::uint64_t first = degree - out.size();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = begin + key.below(first + i + 1, i);
  bool repeated = false;
  for (std::size_t i = 1; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) repeated |= out[i] == out[j];
  }
  return !repeated;
}

#if defined(__x86_64__)

// GCC 12 finds the undefined operands that its own headers pass where none matters.
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Eight of RandomKey::below(bounds[i], counters[i]): SplitMix64, then the upper half of draw times
// bound, in two products since a bound has 32 bits.
__attribute__((target("avx512f,avx512dq"), always_inline)) inline __m512i below8(__m512i draws,
                                                                                 __m512i bounds) {
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(draws, 32), bounds);
  const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(draws, bounds), 32);
  return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
}

__attribute__((target("avx512f,avx512dq"))) __m512i draw8(RandomKey key, std::uint64_t counter) {
  alignas(64) std::array<std::uint64_t, 8> draws;
  for (std::size_t i = 0; i < draws.size(); ++i) draws[i] = key.draw(counter + i);
  return _mm512_load_si512(draws.data());
}

__attribute__((target("avx512f,avx512dq,avx512cd,avx512vl"))) bool draw_lanes_avx512(
    std::uint64_t begin, std::uint64_t degree, RandomKey key, std::span<std::uint64_t> out) {
  const std::size_t count = out.size();
  const auto lanes = static_cast<__mmask16>((1u << count) - 1);
  const __m512i first = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(degree - count)),
                                         _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1));
  const __m512i begins = _mm512_set1_epi64(static_cast<long long>(begin));
  const __m512i low = below8(draw8(key, 0), first);
  _mm512_mask_storeu_epi64(out.data(), static_cast<__mmask8>(lanes), _mm512_add_epi64(low, begins));
  if (count <= 8) {
    const __m256i conflicts = _mm256_conflict_epi32(_mm512_cvtepi64_epi32(low));
    return (_mm256_test_epi32_mask(conflicts, conflicts) & lanes) == 0;
  }
  const __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(8));
  const __m512i high = below8(draw8(key, 8), second);
  _mm512_mask_storeu_epi64(
      out.data() + 8, static_cast<__mmask8>(lanes >> 8), _mm512_add_epi64(high, begins));
  const __m512i all = _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
  const __m512i conflicts = _mm512_conflict_epi32(all);  // of a lane with lanes before it
  return (_mm512_test_epi32_mask(conflicts, conflicts) & lanes) == 0;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

#endif

// Each number's place is how many are less: no branch depends on what was drawn.
void sort_lanes(std::uint64_t begin, std::span<std::uint64_t> numbers) {
  std::array<std::int32_t, PositionChooser::kLanes> keys, places{};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    keys[i] = static_cast<std::int32_t>(numbers[i] - begin);
  for (std::size_t i = numbers.size(); i < keys.size(); ++i) keys[i] = 0;  // place of no one
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    const std::int32_t key = keys[j];
    for (std::size_t i = 0; i < keys.size(); ++i) places[i] += key < keys[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[static_cast<std::size_t>(places[i])] = begin + static_cast<std::uint64_t>(keys[i]);
}

}  // namespace

Result<void> PositionChooser::reserve(std::size_t count, MemoryLedger* ledger) {
  if (count <= kFew) return {};
  taken_.clear();
  return taken_.reserve(count, ledger);
}

void PositionChooser::draw(std::uint64_t begin,
                           std::uint64_t degree,
                           RandomKey key,
                           std::span<std::uint64_t> out) {
  if (out.size() == degree) {
    std::iota(out.begin(), out.end(), begin);
  } else if (out.size() <= kLanes && degree < kMaxLaneDegree) {
    if (!draw_lanes(begin, degree, key, out)) draw_few(begin, degree, key, out);
  } else if (out.size() <= kFew) {
    draw_few(begin, degree, key, out);
  } else {
    draw_many(begin, degree, key, out);
  }
}

void PositionChooser::choose(std::uint64_t begin,
                             std::uint64_t degree,
                             RandomKey key,
                             std::span<std::uint64_t> out) {
  draw(begin, degree, key, out);
  if (out.size() == degree) return;
  if (out.size() <= kLanes && degree < kMaxLaneDegree) {
    sort_lanes(begin, out);
  } else {
    std::sort(out.begin(), out.end());
  }
}

bool PositionChooser::draw_lanes(std::uint64_t begin,
                                 std::uint64_t degree,
                                 RandomKey key,
                                 std::span<std::uint64_t> out) {
#if defined(__x86_64__)
  if (cpu_isa() == CpuIsa::kAvx512) return draw_lanes_avx512(begin, degree, key, out);
#endif
  return draw_lanes_portable(begin, degree, key, out);
}

void PositionChooser::draw_few(std::uint64_t begin,
                               std::uint64_t degree,
                               RandomKey key,
                               std::span<std::uint64_t> out) {
  const std::uint64_t first = degree - out.size();
  for (std::size_t count = 0; count < out.size(); ++count) {
    const std::uint64_t last = first + count;
    const std::uint64_t drawn = begin + key.below(last + 1, count);
    const auto chosen = out.first(count);
    const bool taken = std::find(chosen.begin(), chosen.end(), drawn) != chosen.end();
    out[count] = taken ? begin + last : drawn;  // last is above all chosen so far
  }
}

void PositionChooser::draw_many(std::uint64_t begin,
                                std::uint64_t degree,
                                RandomKey key,
                                std::span<std::uint64_t> out) {
  taken_.clear();
  const std::uint64_t first = degree - out.size();
  for (std::size_t count = 0; count < out.size(); ++count) {
    const std::uint64_t last = first + count;
    taken_.insert(key.below(last + 1, count));
    if (taken_.size() == count) taken_.insert(last);  // the drawn one was there
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = begin + taken_.ids()[i];
}

}  // namespace sluice
