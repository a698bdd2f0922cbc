#pragma once

#include "core/thread_sanitizer.h"

#include <liburing.h>

#ifdef SLUICE_THREAD_SANITIZER
#include "storage/io/aligned_buffer.h"

#include <sanitizer/tsan_interface.h>
#endif

namespace sluice {

// liburing maps and unmaps a ring by bare system calls, which ThreadSanitizer does not see: where a
// ring lies at the addresses of one that another thread closed, it would report that the two
// threads race. These two tell it, page by page, what the kernel sees to: the last use of the ring
// that was there comes before the first of the one that is. Without it they do nothing.

#ifdef SLUICE_THREAD_SANITIZER

template <class Tell>
void for_each_page_of(const io_uring& ring, Tell tell) {
  const auto all_of = [&](void* begin, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kPageBytes)
      tell(static_cast<std::byte*>(begin) + at);
  };
  all_of(ring.sq.ring_ptr, ring.sq.ring_sz);  // with the completions, since Linux 5.4
  all_of(ring.sq.sqes, ring.sq.ring_entries * sizeof(io_uring_sqe));
}

/// Of a ring that was just mapped.
inline void ring_opened(const io_uring& ring) noexcept {
  for_each_page_of(ring, [](void* page) { __tsan_acquire(page); });
}

/// Of a ring that will be unmapped next.
inline void ring_closes(const io_uring& ring) noexcept {
  for_each_page_of(ring, [](void* page) { __tsan_release(page); });
}

#else

inline void ring_opened(const io_uring&) noexcept {}
inline void ring_closes(const io_uring&) noexcept {}

#endif

}  // namespace sluice
