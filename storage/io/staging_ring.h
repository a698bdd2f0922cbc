// StagingRing: room in a read buffer, handed out in order and given back in any order, so that
// reads can follow each other without waiting for the slowest of a wave. Not thread-safe.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <optional>

namespace sluice {

class StagingRing {
 public:
  explicit StagingRing(std::uint64_t bytes = 0) : bytes_(bytes) {}

  /// Where `length` contiguous bytes are free, or nothing before earlier ones are given back. Each
  /// success is numbered from 0. @pre 0 < length <= the ring's bytes
  std::optional<std::uint64_t> take(std::uint64_t length) {
    if (taken_.empty()) head_ = 0;
    const std::uint64_t oldest = taken_.empty() ? 0 : taken_.front().offset;
    // Between the newest and the oldest: either up to the end and then from the start, or up to
    // the oldest.
    const bool wrapped = !taken_.empty() && head_ <= oldest;
    if (wrapped) {
      if (head_ + length > oldest) return std::nullopt;
    } else if (head_ + length > bytes_) {
      if (taken_.empty() || length > oldest) return std::nullopt;
      head_ = 0;
    }
    const std::uint64_t offset = head_;
    taken_.push_back({offset, false});
    head_ += length;
    return offset;
  }

  /// Gives the `number`-th taking back.
  void give_back(std::uint64_t number) {
    assert(number >= first_ && number - first_ < taken_.size());
    taken_[number - first_].free = true;
    while (!taken_.empty() && taken_.front().free) {
      taken_.pop_front();
      ++first_;
    }
  }

  /// Where the `number`-th taking begins. @pre it was not given back
  std::uint64_t offset_of(std::uint64_t number) const { return taken_[number - first_].offset; }

  /// Forgets all takings; numbers start at 0 again.
  void clear() { *this = StagingRing(bytes_); }

 private:
  struct Taken {
    std::uint64_t offset;
    bool free;
  };

  std::uint64_t bytes_;
  std::deque<Taken> taken_;
  std::uint64_t first_ = 0;  // number of the first of them
  std::uint64_t head_ = 0;   // end of the newest
};

}  // namespace sluice
