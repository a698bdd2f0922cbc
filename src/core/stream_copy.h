// Copies that go to memory past the processor's caches: for what is stored all over more memory
// than they hold, and is read again only later. A plain store first loads the line that it is about
// to replace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sluice {

inline constexpr std::size_t kLineBytes = 64;

/// Whether stream_lines() can store so many bytes there: whole lines.
inline bool is_whole_lines(const std::byte* to, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(to) | bytes) % kLineBytes == 0;
}

/// @pre is_whole_lines(to, bytes). Others see what was stored after stream_fence() alone.
inline void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kPart = sizeof(__m128i);
  const auto load = [&](std::size_t at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
  };
  const auto store = [&](std::size_t at, __m128i part) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), part);
  };
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    const __m128i parts[] = {
        load(at), load(at + kPart), load(at + 2 * kPart), load(at + 3 * kPart)};
    for (std::size_t i = 0; i < 4; ++i) store(at + i * kPart, parts[i]);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

/// What this thread streamed is seen by whoever it synchronizes with from here on.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace sluice
