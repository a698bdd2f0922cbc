// SLUICE_THREAD_SANITIZER: defined where ThreadSanitizer watches, with g++ or clang.
// IWYU pragma: always_keep
#pragma once

#if defined(__SANITIZE_THREAD__)
#define SLUICE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_THREAD_SANITIZER 1
#endif
#endif
