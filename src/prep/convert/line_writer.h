// LineWriter: one thread's write-combining buffers, a cache line a range. Whole lines go to memory
// past the cache, so that a store to a far place does not first load what is there. Private to the
// scatter.
#pragma once

#include "core/stream_copy.h"
#include "prep/convert/range_store.h"

#include <sluice/mutex.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace sluice {

/// A line, room for a record that runs over its end, and the range's places.
inline constexpr std::uint64_t kLineWriterBytesARange = kLineBytes + 16 + 4 * sizeof(std::uint64_t);

/// Memory of line writers, kept from one to the next: mapping it anew for every piece would cost
/// more than a small piece itself.
class LineMemory {
 public:
  AlignedBuffer take(std::uint64_t ranges) {
    {
      const MutexLock lock(mutex_);
      if (!free_.empty()) {
        AlignedBuffer last = std::move(free_.back());
        free_.pop_back();
        return last;
      }
    }
    return AlignedBuffer::make(ranges * kLineWriterBytesARange, nullptr, "edges").or_throw();
  }
  void give(AlignedBuffer buffer) {
    const MutexLock lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  Mutex mutex_;
  std::vector<AlignedBuffer> free_ SLUICE_GUARDED_BY(mutex_);  // one a thread, at most
};

template <int kBytes>
class LineWriter {
 public:
  /// @param offsets where this piece begins in each range, counted from the end of what the store
  /// has
  LineWriter(const RangeStore& store, const std::uint32_t* offsets, LineMemory& memory)
      : store_(store),
        ranges_(store.num_ranges()),
        home_(memory),
        memory_(memory.take(ranges_)),
        lines_(memory_.data()),
        next_(reinterpret_cast<std::byte**>(lines_ + ranges_ * kStride)),
        places_(reinterpret_cast<Place*>(next_ + ranges_)) {
    for (std::uint64_t range = 0; range < ranges_; ++range)
      open(range, store_.count(range) + offsets[range]);
  }

  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter() { home_.give(std::move(memory_)); }

  void put(std::uint64_t range, RecordWord<kBytes> word) {
    std::byte*& next = next_[range];
    std::byte* const line = lines_ + range * kStride;
    const std::size_t at = reinterpret_cast<std::uintptr_t>(next) % kLineBytes;
    store_record<kBytes>(line + at, word);
    next += kBytes;
    if (at + kBytes >= kLineBytes) flush(range, line);
  }

  /// Stores what is left in the lines.
  void finish() {
    for (std::uint64_t range = 0; range < ranges_; ++range) {
      std::byte* const next = next_[range];
      const std::size_t filled = reinterpret_cast<std::uintptr_t>(next) % kLineBytes;
      if (filled == 0 || next == places_[range].begin) continue;
      std::byte* const line_at = next - filled;
      std::byte* const from = std::max(line_at, places_[range].begin);
      std::memcpy(
          from, lines_ + range * kStride + (from - line_at), static_cast<std::size_t>(next - from));
    }
    stream_fence();
  }

 private:
  // A line, and after it what a record may run over its end.
  static constexpr std::size_t kStride = kLineBytes % kBytes == 0 ? kLineBytes : kLineBytes + 16;
  struct Place {
    std::byte* begin;          // what lies before is somebody else's
    std::byte* end;            // of the segment: always the end of a line
    std::uint64_t next_index;  // of the record at `end`
  };
  static_assert(kStride + sizeof(std::byte*) + sizeof(Place) <= kLineWriterBytesARange);

  void open(std::uint64_t range, std::uint64_t index) {
    std::uint64_t follow = 0;
    std::byte* const at = store_.place(range, index, follow);
    next_[range] = at;
    if (at == nullptr) return;  // this piece has no record there
    places_[range] = {at, at + follow * kBytes, index + follow};
  }

  void flush(std::uint64_t range, std::byte* line) {
    const Place& place = places_[range];
    std::byte* const next = next_[range];
    const std::size_t over = reinterpret_cast<std::uintptr_t>(next) % kLineBytes;
    std::byte* const line_at = next - over - kLineBytes;
    if (line_at < place.begin) {
      const auto skipped = static_cast<std::size_t>(place.begin - line_at);
      std::memcpy(place.begin, line + skipped, kLineBytes - skipped);
    } else {
      stream_lines(line_at, line, kLineBytes);
    }
    if constexpr (kStride > kLineBytes) std::memcpy(line, line + kLineBytes, 8);
    if (next == place.end) open(range, place.next_index);
  }

  const RangeStore& store_;
  std::uint64_t ranges_;
  LineMemory& home_;
  AlignedBuffer memory_;
  std::byte* lines_;
  std::byte** next_;
  Place* places_;
};

}  // namespace sluice
