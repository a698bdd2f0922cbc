// ChargedBuffer: scratch that a sampler keeps from batch to batch, charged to the ledger as
// "sampler workspace".
//
// It only grows, to a quarter more than asked, so that a run soon stops allocating. Not
// thread-safe.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace sluice {

template <class T>
class ChargedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Room for at least `count` elements; what was in it is lost when it has to grow.
  Result<void> ensure(std::size_t count, MemoryLedger* ledger) {
    if (count <= capacity_) return {};
    *this = ChargedBuffer();  // first, so that old and new never stand beside each other
    return allocate(count + count / 4, ledger);
  }

  /// As ensure(), without the quarter more: for counts that leave room themselves.
  Result<void> ensure_exactly(std::size_t count, MemoryLedger* ledger) {
    if (count <= capacity_) return {};
    *this = ChargedBuffer();
    return allocate(count, ledger);
  }

  /// Room for at least `count` elements; the first `keep` stay. On failure nothing changes.
  Result<void> grow(std::size_t count, std::size_t keep, MemoryLedger* ledger) {
    if (count <= capacity_) return {};
    ChargedBuffer larger;
    if (auto made = larger.allocate(count + count / 4, ledger); !made) return made;
    if (keep != 0) std::memcpy(larger.data_, data_, keep * sizeof(T));
    *this = std::move(larger);
    return {};
  }

  std::size_t capacity() const noexcept { return capacity_; }
  /// What it takes of a ledger, as blocks of its size come.
  std::uint64_t workspace_bytes() const noexcept {
    return capacity_ == 0 ? 0 : MemoryLedger::block_bytes(capacity_ * sizeof(T));
  }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::span<T> first(std::size_t count) { return {data_, count}; }
  std::span<const T> first(std::size_t count) const { return {data_, count}; }

 private:
  Result<void> allocate(std::size_t count, MemoryLedger* ledger) {
    const auto bytes = static_cast<std::int64_t>(count * sizeof(T));
    auto made = Array::make(DType::kU8, {bytes}, ledger, "sampler workspace");
    if (!made) return std::move(made).error();
    storage_ = std::move(made).value();
    data_ = static_cast<T*>(storage_.data());
    capacity_ = count;
    return {};
  }

  Array storage_;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// workspace_bytes() of all parts together: buffers, what has some, and ranges of such.
template <class... Parts>
std::uint64_t workspace_of(const Parts&... parts) {
  const auto of = [](const auto& part) {
    if constexpr (requires { part.workspace_bytes(); }) {
      return part.workspace_bytes();
    } else {
      std::uint64_t sum = 0;
      for (const auto& each : part) sum += workspace_of(each);
      return sum;
    }
  };
  return (std::uint64_t{0} + ... + of(parts));
}

}  // namespace sluice
