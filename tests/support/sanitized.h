// What a test runs less of where a sanitizer watches: every access costs some ten times more there,
// and what a sanitizer looks for shows in a few rounds.
#pragma once

namespace sluice::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// `full`, or under a sanitizer `reduced`.
template <class T>
constexpr T sanitized(const T& full, const T& reduced) {
  return kSanitized ? reduced : full;
}

}  // namespace sluice::test
