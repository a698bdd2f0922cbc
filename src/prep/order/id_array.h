// IdArray: a number a node, charged, in 4 bytes each where all of them fit.
#pragma once

#include "storage/io/aligned_buffer.h"

#include <cstdint>
#include <string_view>

namespace sluice {

class IdArray {
 public:
  IdArray() = default;
  /// All zero. @param bound every value is below it
  IdArray(std::uint64_t count, std::uint64_t bound, MemoryLedger* ledger, std::string_view name)
      : count_(count),
        narrow_(bound <= (std::uint64_t{1} << 32)),
        memory_(AlignedBuffer::make(count * (narrow_ ? 4 : 8), ledger, name).or_throw()) {}

  std::uint64_t size() const noexcept { return count_; }
  std::uint64_t operator[](std::uint64_t at) const {
    return narrow_ ? reinterpret_cast<const std::uint32_t*>(memory_.data())[at]
                   : reinterpret_cast<const std::uint64_t*>(memory_.data())[at];
  }
  void set(std::uint64_t at, std::uint64_t value) {
    if (narrow_) {
      reinterpret_cast<std::uint32_t*>(memory_.data())[at] = static_cast<std::uint32_t>(value);
    } else {
      reinterpret_cast<std::uint64_t*>(memory_.data())[at] = value;
    }
  }

 private:
  std::uint64_t count_ = 0;
  bool narrow_ = true;
  AlignedBuffer memory_;
};

}  // namespace sluice
